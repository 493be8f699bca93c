import './settings.css'
import { Tabs } from '@mantine/core'
import { lazy, type ReactNode, Suspense } from 'react'
import { useAddress } from '../../data/address.ts'
import { Bars } from '../../parts/data-state.tsx'
import { Page } from '../../parts/page.tsx'
import { ShowTheCall } from '../../parts/show-the-call.tsx'
import { t } from '../../parts/t.ts'
import ProjectTab from './project-tab.tsx'

const KeysTab = lazy(() => import('./keys-tab.tsx'))
const StoresTab = lazy(() => import('./stores-tab.tsx'))
const PeopleTab = lazy(() => import('./people-tab.tsx'))
const AuditTab = lazy(() => import('./audit-tab.tsx'))

const TABS: Record<string, { text: string; page: () => ReactNode; call?: ReactNode }> = {
  project: { text: 'Project', page: () => <ProjectTab />, call: <ShowTheCall name="v4GetProjectSettings" input={{}} /> },
  keys: { text: 'Keys', page: () => <KeysTab />, call: <ShowTheCall name="v4ListApiKeys" input={{ query: { limit: 100 } }} /> },
  stores: {
    text: 'Stores',
    page: () => <StoresTab />,
    call: <ShowTheCall name="v4GetStoreConfig" input={{ path: { platform: 'apple' } }} />,
  },
  people: { text: 'People', page: () => <PeopleTab /> },
  audit: { text: 'Audit log', page: () => <AuditTab />, call: <ShowTheCall name="v4ListAuditLog" input={{ query: { limit: 50 } }} /> },
}

/** What belongs to the project: its keys, stores and people, and who has changed what. */
export default function Settings() {
  const [search, set] = useAddress()
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
      about={t('Keys, stores and people of the project, and who has changed what')}
      actions={TABS[tab]!.call}
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
