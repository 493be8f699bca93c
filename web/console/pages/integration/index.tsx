import '../events/events.css'
import '../integrations/integrations.css'
import './integration.css'
import { Tabs } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import type { Integration } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Bars, DataState } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { span } from '../../parts/format.ts'
import { Icon } from '../../parts/icon.tsx'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { Trouble } from '../integrations/trouble.tsx'
import { useStatus } from '../integrations/use-status.ts'
import { heldText, stateOf } from '../integrations/words.ts'
import { Deliveries } from './deliveries.tsx'
import { TestButton } from './test-button.tsx'

const DeliveryDrawer = lazy(() => import('./delivery-drawer.tsx'))
const Settings = lazy(() => import('./settings.tsx'))
const Replay = lazy(() => import('./replay.tsx'))

/** One integration: whether it sends, what became of each delivery, and how it is set. */
export default function OneIntegration() {
  const { id } = useParams({ strict: false }) as { id: string }
  const read = useRead('v4ListIntegrations', {}, { topics: ['deliveries'], every: 30_000 })
  const found = read.data?.data.find(one => one.id === id)
  if (found) return <Shown of={found} />
  return (
    <Page wide title={t('Integration')}>
      <DataState of={read}>
        {() => <NotHere icon="plug" title={t('No such integration')} to="/integrations" all={t('All integrations')} />}
      </DataState>
    </Page>
  )
}

function Shown({ of: integration }: { of: Integration }) {
  const [search, set] = useAddress()
  const denied = useDenied('editor', usePlace()?.project)
  const { start, pause, isPending, error } = useStatus(integration)
  const { id, title, active } = integration
  const tab = search.tab === 'settings' ? 'settings' : 'deliveries'
  const inactive = active === 1 ? undefined : t('Only an active integration sends again: start it first.')
  return (
    <Page
      wide
      title={title}
      about={
        <span className="integration-about">
          {integration.integration} · {integration.target_platform} <StatusChip {...stateOf(integration)} />
        </span>
      }
      actions={
        <>
          <TestButton id={id} denied={denied} />
          <Act
            denied={denied ?? inactive}
            size="xs"
            variant="default"
            leftSection={<Icon name="retry" size={14} />}
            onClick={() => set({ at: 'replay' }, { push: true })}
          >
            {t('Replay')}
          </Act>
          <Act
            denied={denied}
            size="xs"
            {...(active !== 0 && { variant: 'default' })}
            loading={isPending}
            onClick={active === 0 ? start : pause}
          >
            {active === 0 ? t('Start') : t('Pause')}
          </Act>
        </>
      }
    >
      {error && <Fault error={error} />}
      <Trouble of={integration} />
      <Figures of={integration} />
      <Tabs
        value={tab}
        onChange={next => set({ tab: next === 'settings' ? 'settings' : undefined, at: undefined }, { push: true })}
        keepMounted={false}
        className="integration-tabs"
      >
        <Tabs.List aria-label={title}>
          <Tabs.Tab value="deliveries">{t('Deliveries')}</Tabs.Tab>
          <Tabs.Tab value="settings">{t('Settings')}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="deliveries">
          <Deliveries of={integration} />
        </Tabs.Panel>
        <Tabs.Panel value="settings">
          <Suspense fallback={<Bars />}>
            <Settings of={integration} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      <Suspense fallback={null}>
        {search.at?.startsWith('dlv_') && (
          <DeliveryDrawer key={search.at} of={integration} id={search.at} onClose={() => set({ at: undefined })} />
        )}
        {search.at === 'replay' && denied === undefined && <Replay of={integration} onClose={() => set({ at: undefined })} />}
      </Suspense>
    </Page>
  )
}

/** What waits and since when, as the service counts it. */
function Figures({ of: one }: { of: Integration }) {
  const never = t('never')
  return (
    <dl className="card integration-figures">
      <Shows name={t('Last delivery')}>{one.last_delivery_at === null ? never : <Time at={one.last_delivery_at} relative />}</Shows>
      <Shows name={t('Held')}>{heldText(one.held)}</Shows>
      <Shows name={t('Lag')}>{one.lag_seconds === 0 ? t('none') : span(one.lag_seconds * 1_000)}</Shows>
      <Shows name={t('Failures since success')}>{one.delivery_error_count.toLocaleString('en')}</Shows>
      <Shows name={t('Last failure')}>{one.last_error_at === null ? never : <Time at={one.last_error_at} relative />}</Shows>
    </dl>
  )
}

const Shows = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)
