import { Button } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import type { Automation } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { ApiError } from '../../data/api-error.ts'
import { addressOfCall } from '../../data/operations.ts'
import { usePlace } from '../../data/place.ts'
import { request } from '../../data/request.ts'
import { useDenied } from '../../data/session.ts'
import { useWrite } from '../../data/write.ts'
import { Act } from '../../parts/act.tsx'
import { Choice } from '../../parts/choice.tsx'
import { Id } from '../../parts/copy.tsx'
import { Bars } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useKeys } from '../../parts/keys.ts'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'
import { Boundary } from '../../shell/boundary.tsx'
import { CHANGES } from '../automation/use-status.ts'
import { type Draft, draftOf } from './draft.ts'
import { Faults, Refused } from './faults.tsx'
import { Form } from './form.tsx'
import { useKept } from './kept.ts'

// Loaded when they are wanted.
const Backtest = lazy(() => import('./backtest-typed.tsx'))
const JsonTab = lazy(() => import('./json-tab.tsx'))
const Newer = lazy(() => import('./newer.tsx'))

const TABS = [
  ['form', 'Form'],
  ['json', 'JSON'],
] as const

type Props = {
  draft: Draft
  /** The state that is changed; without it a new one is made. */
  automation?: Automation
  title: string
  /** The draft was typed before the form was left: how to begin without it. */
  onDiscard?: (() => void) | undefined
}

/** What is typed, and how it is stored. */
export function Editor({ draft: first, automation, title, onDiscard }: Props) {
  const [search, set] = useAddress()
  const go = useGo()
  const denied = useDenied('editor', usePlace()?.project)
  const [draft, setTyped] = useState(first)
  const [isBroken, setBroken] = useState(false)
  const saving = useSave(automation)
  const { newer, error } = saving
  const { keep, drop } = useKept(automation?.id)
  const setDraft = (typed: Draft, base = saving.base) => {
    setTyped(typed)
    keep({ draft: typed, base })
  }
  const tab = search.tab === 'json' ? 'json' : 'form'
  const save = async (over?: Automation) => {
    const saved = await saving.save(draft, over)
    if (!saved) return
    drop()
    say(automation ? t('The automation is saved') : t('The automation is made'))
    go({ to: `/automations/${encodeURIComponent(saved.id)}` })
  }
  // The form shows what was JSON last: what is typed now would be lost.
  const show = (code: 'form' | 'json') =>
    isBroken ? say(t('This is no JSON yet. Mend it first.')) : set({ tab: code === 'form' ? undefined : code })
  const leave = () => {
    drop()
    go({ to: automation ? `/automations/${encodeURIComponent(automation.id)}` : '/automations' })
  }
  useKeys({ 'mod+s': { says: t('Save'), run: () => denied === undefined && !isBroken && void save() } })
  return (
    <Page
      wide
      title={title}
      about={automation ? <Id>{automation.id}</Id> : t('What starts it, for whom, and what it does')}
      actions={
        <>
          <Choice name={t('As')} value={tab} options={TABS} onChange={show} />
          {automation && (
            <Button
              size="xs"
              variant="default"
              leftSection={<Icon name="retry" size={14} />}
              disabled={isBroken}
              onClick={() => set({ at: 'backtest' }, { push: true })}
            >
              {t('Backtest')}
            </Button>
          )}
          {automation ? (
            <ShowTheCall name="v4UpdateAutomation" input={{ path: { automation_id: automation.id }, body: draft }} />
          ) : (
            <ShowTheCall name="v4CreateAutomation" input={{ body: draft }} />
          )}
          <Button size="xs" variant="default" onClick={leave}>
            {t('Cancel')}
          </Button>
          <Act
            size="xs"
            denied={denied ?? (isBroken ? t('it is no JSON yet') : undefined)}
            loading={saving.isPending}
            onClick={() => void save()}
          >
            {automation ? t('Save') : t('Make it')}
          </Act>
        </>
      }
    >
      {onDiscard && (
        <div className="notice" role="status">
          <Icon name="info" />
          <div>{t('You have left this form without saving it. What you typed is here.')}</div>
          <button type="button" className="chip small" onClick={onDiscard}>
            {t('Discard it')}
          </button>
        </div>
      )}
      {newer ? (
        <Suspense fallback={null}>
          <Newer
            theirs={newer}
            mine={draft}
            onTake={() => {
              setDraft(draftOf(newer), newer)
              saving.take(newer)
            }}
            onKeep={() => void save(newer)}
          />
        </Suspense>
      ) : (
        error && <Faults error={error} />
      )}
      <Refused value={error}>
        {tab === 'json' ? (
          <Suspense fallback={<Bars rows={9} />}>
            <JsonTab
              key={newer?.updated_at ?? saving.base?.updated_at}
              draft={draft}
              onChange={typed => setDraft(typed)}
              onBroken={setBroken}
            />
          </Suspense>
        ) : (
          // What was typed as JSON may have a shape that no form has: it stays, and JSON is where to mend it.
          <Boundary>
            <Form draft={draft} before={automation?.status} onChange={typed => setDraft(typed)} />
          </Boundary>
        )}
      </Refused>
      {search.at === 'backtest' && automation && (
        <Suspense fallback={null}>
          <Backtest id={automation.id} data={draft.data} onClose={() => set({ at: undefined })} />
        </Suspense>
      )}
    </Page>
  )
}

/**
 * Stores over the state that was read and no other. `newer`: the state that somebody else has stored meanwhile, which is saved over only when
 * it is named.
 */
function useSave(automation: Automation | undefined) {
  const place = usePlace()
  const creating = useWrite('v4CreateAutomation', { changes: ['v4ListAutomations'] })
  const updating = useWrite('v4UpdateAutomation', CHANGES)
  const [base, setBase] = useState(automation)
  const [newer, setNewer] = useState<Automation>()
  const [isLooking, setLooking] = useState(false)
  const save = async (draft: Draft, over = base): Promise<Automation | undefined> => {
    try {
      if (over === undefined) return await creating.send({ body: draft })
      const body = { ...draft, updated_at: over.updated_at }
      return await updating.send({ path: { automation_id: over.id }, body })
    } catch (error) {
      if (over === undefined || !(error instanceof ApiError) || error.status !== 409) return undefined
      // A conflict may also be about what the automation names: then nobody has changed it.
      const call = addressOfCall(place!, 'v4GetAutomation', { path: { automation_id: over.id } })
      setLooking(true)
      const now = await request<Automation>(call, { method: 'GET' }).catch(() => undefined)
      setLooking(false)
      if (now && now.updated_at !== over.updated_at) setNewer(now)
      return undefined
    }
  }
  const take = (theirs: Automation) => {
    setBase(theirs)
    setNewer(undefined)
    updating.reset()
  }
  return {
    ...{ save, take, base, newer },
    error: isLooking ? null : (updating.error ?? creating.error),
    isPending: updating.isPending || creating.isPending || isLooking,
  }
}
