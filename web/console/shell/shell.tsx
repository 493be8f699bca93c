import { useQueryClient } from '@tanstack/react-query'
import { Outlet, useRouterState } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { askAgain } from '../data/ask-again.ts'
import { useLive } from '../data/live.ts'
import { usePlace } from '../data/place.ts'
import { useSession, useSignedOut } from '../data/session.ts'
import { Bars } from '../parts/data-state.tsx'
import { Empty } from '../parts/empty.tsx'
import { useKeys } from '../parts/keys.ts'
import { Page } from '../parts/page.tsx'
import { t } from '../parts/t.ts'
import { useGo } from '../parts/to.tsx'
import { NewerBar, OfflineBar, SandboxBar } from './bars.tsx'
import { Boundary, Broken } from './boundary.tsx'
import { BottomBar, TopBar } from './narrow.tsx'
import { NAVIGATION } from './navigation.ts'
import { Side } from './side.tsx'
import { useTheme } from './theme.ts'
import { useClock } from './use-clock.ts'

const Palette = lazy(() => import('./palette.tsx'))
const KeysHelp = lazy(() => import('./keys-help.tsx'))
const SignInOver = lazy(() => import('./sign-in-over.tsx'))
const PreferencesForm = lazy(() => import('./preferences.tsx'))

export type Overlay = 'palette' | 'keys' | 'preferences'

/** The frame around every page. */
export function Shell() {
  const [overlay, setOverlay] = useState<Overlay>()
  // Of the page that is shown: with the address, which is first, the page before would be drawn once more and read everything again.
  const pathname = useRouterState({ select: state => state.matches.at(-1)?.pathname })
  const { isSignedOut } = useSignedOut()
  useReturn(isSignedOut)
  const close = () => setOverlay(undefined)
  useLive()
  useTheme()
  useShellKeys(setOverlay)
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {t('Skip to the page')}
      </a>
      <Side open={setOverlay} />
      <div className="main">
        <TopBar open={setOverlay} />
        <OfflineBar />
        <NewerBar />
        <SandboxBar />
        <main id="content" tabIndex={-1}>
          <Boundary key={pathname} fallback={(error, retry) => <Broken error={error} reset={retry} />}>
            <Suspense fallback={<Loading />}>
              <Content />
            </Suspense>
          </Boundary>
        </main>
      </div>
      <BottomBar />
      <Suspense fallback={null}>
        {isSignedOut && <SignInOver />}
        {overlay === 'palette' && <Palette onClose={close} />}
        {overlay === 'keys' && <KeysHelp onClose={close} />}
        {overlay === 'preferences' && <PreferencesForm onClose={close} />}
      </Suspense>
    </div>
  )
}

/** After a session has ended and there is one again, everything that was refused is asked for again. */
function useReturn(isSignedOut: boolean) {
  const client = useQueryClient()
  const before = useRef(isSignedOut)
  useEffect(() => {
    if (before.current && !isSignedOut) void askAgain(client, () => true)
    before.current = isSignedOut
  }, [client, isSignedOut])
}

/** The page; before it, what a page cannot be without: a project that this operator may see. */
function Content() {
  const place = usePlace()
  const { data: session } = useSession()
  const isClockKnown = useClock()
  if (place === undefined) return session ? <NoProject /> : <Loading />
  if (session && !session.projects.some(({ id }) => id === place.project)) return <NoProject named={place.project} />
  // Ranges and ages are those of the clock; a page that began without it would have to begin anew, and would lose what was typed.
  return isClockKnown ? <Outlet /> : <Loading />
}

/** While the code of a page, the projects of the operator or the clock of the sandbox are not there. */
const Loading = () => (
  <div className="page">
    <h1 className="unseen">{t('Loading')}</h1>
    <Bars />
  </div>
)

const NoProject = ({ named }: { named?: string }) => (
  <Page title={t('No project')}>
    <Empty
      icon="key"
      title={named === undefined ? t('You have no project yet') : t('There is no project {named} for you', { named })}
      why={t('An owner or an admin of a project gives you a role in it, under Settings, Operators.')}
    />
  </Page>
)

function useShellKeys(open: (overlay: Overlay) => void) {
  const go = useGo()
  const pages = NAVIGATION.flatMap(({ entries }) => entries)
  useKeys({
    'mod+k': { says: t('Search or go to'), run: () => open('palette') },
    '?': { says: t('This list of keys'), run: () => open('keys') },
    '/': { says: t('Filter of the page'), run: () => document.querySelector<HTMLInputElement>('[data-filter]')?.focus() },
    ...Object.fromEntries(pages.map(({ key, text, to }) => [`g ${key}`, { says: text, run: () => go({ to }) }])),
  })
}
