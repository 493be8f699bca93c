import './settings.css'
import { Tabs } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { type Search, useAddress } from '../../data/address.ts'
import { Bars } from '../../parts/data-state.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import { To, useGo } from '../../parts/to.tsx'
import ProjectTab from './project-tab.tsx'

const KeysTab = lazy(() => import('./keys-tab.tsx'))
const StoresTab = lazy(() => import('./stores-tab.tsx'))
const PeopleTab = lazy(() => import('./people-tab.tsx'))

const TABS: Record<string, { text: string; page: () => ReactNode; call?: ReactNode }> = {
  project: { text: 'Project', page: () => <ProjectTab />, call: <ShowTheCall name="v4GetProjectSettings" input={{}} /> },
  keys: { text: 'Keys', page: () => <KeysTab />, call: <ShowTheCall name="v4ListApiKeys" input={{ query: { limit: 100 } }} /> },
  stores: {
    text: 'Stores',
    page: () => <StoresTab />,
    call: <ShowTheCall name="v4GetStoreConfig" input={{ path: { platform: 'apple' } }} />,
  },
  people: { text: 'People', page: () => <PeopleTab /> },
}

/** The audit log stood here: a link of that time leads to its page. */
function useFormerAudit({ tab, 'f.operation': operation, 'f.id': id, 'f.actor': actor, at }: Search) {
  const go = useGo()
  const isAsked = tab === 'audit'
  useEffect(() => {
    if (isAsked) go({ to: '/audit', search: { 'f.operation': operation, 'f.id': id, 'f.actor': actor, at } })
  }, [isAsked, go, operation, id, actor, at])
}

/** What belongs to the project: its keys, stores and people. */
export default function Settings() {
  const [search, set] = useAddress()
  useFormerAudit(search)
  const tab = search.tab !== undefined && Object.hasOwn(TABS, search.tab) ? search.tab : 'project'
  const go = (next: string | null) => {
    const none = Object.fromEntries(
      Object.keys(search)
        .filter(name => name.startsWith('f.'))
        .map(name => [name, undefined]),
    )
    set({ ...none, at: undefined, after: undefined, tab: next === null || next === 'project' ? undefined : next }, { push: true })
  }
  return (
    <Page
      wide
      title={t('Settings')}
      about={t('Keys, stores and people of the project')}
      actions={
        <>
          {TABS[tab]!.call}
          <To to="/audit" className="chip">
            <Icon name="audit" size={14} />
            {t('Who changed what')}
          </To>
        </>
      }
    >
      <Tabs value={tab} onChange={go} keepMounted={false} className="settings">
        <Tabs.List aria-label={t('Settings')}>
          {Object.entries(TABS).map(([name, { text }]) => (
            <Tabs.Tab key={name} value={name}>
              {t(text)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(TABS).map(([name, { page }]) => (
          <Tabs.Panel key={name} value={name}>
            <Suspense fallback={<Bars />}>{page()}</Suspense>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  )
}
