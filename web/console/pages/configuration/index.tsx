import '../../parts/growth/growth.css'
import './configuration.css'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import type { RemoteConfigurationDetail } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { useRead } from '../../data/read.ts'
import { Card, Pairs } from '../../parts/card.tsx'
import { ConditionsInWords } from '../../parts/conditions/named-pick.tsx'
import { Copy } from '../../parts/copy.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { PercentBar } from '../../parts/growth/percent-bar.tsx'
import { contextText } from '../../parts/growth/words.ts'
import { NotHere } from '../../parts/not-here.tsx'
import { Page } from '../../parts/page.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { To } from '../../parts/to.tsx'
import { UsedBy } from '../../parts/used-by.tsx'
import { Actions } from './actions.tsx'
import { PayloadCard } from './payload-card.tsx'
import { People } from './people.tsx'

const ConfigurationForm = lazy(() => import('../configurations/form.tsx'))
const Steps = lazy(() => import('./steps.tsx'))
const Served = lazy(() => import('../../parts/growth/served.tsx'))

/** One configuration: its payload, whom it is served to, who uses it, and who is pinned to it. */
export default function Configuration() {
  const { id } = useParams({ strict: false }) as { id: string }
  const [search, set] = useAddress()
  const read = useRead('v4GetRemoteConfiguration', { path: { config_id: id } }, { every: 60_000 })
  const configuration = read.data
  return (
    <Page
      wide
      title={configuration?.name ?? t('Configuration')}
      about={
        <span className="growth-about">
          <To to="/configurations" className="link">
            {t('Configurations')}
          </To>
          {configuration && (
            <>
              <StatusChip status={configuration.status} />
              <span>{contextText(configuration.context_key)}</span>
            </>
          )}
        </span>
      }
      actions={configuration && <Actions of={configuration} />}
    >
      {read.error?.status === 404 ? (
        <NotHere icon="knobs" title={t('No such configuration')} to="/configurations" all={t('All configurations')} />
      ) : (
        <DataState of={read} rows={10}>
          {shown => (
            <div className="grid two start">
              <div className="grid">
                <PayloadCard key={shown.id} of={shown} />
              </div>
              <div className="grid">
                <Serving of={shown} />
                <People of={shown} />
                <Card title={t('Used by')}>
                  <UsedBy of={shown} none={t('No group of an experiment serves it.')} />
                </Card>
              </div>
            </div>
          )}
        </DataState>
      )}
      <Suspense fallback={null}>
        {configuration && <Over of={configuration} at={search.at} onClose={() => set({ at: undefined, person: undefined })} />}
      </Suspense>
    </Page>
  )
}

function Over({ of, at, onClose }: { of: RemoteConfigurationDetail; at: string | undefined; onClose: () => void }) {
  switch (at) {
    case 'edit':
      return of.status === 'archived' ? null : <ConfigurationForm configuration={of} onDone={onClose} onClose={onClose} />
    case 'activate':
    case 'archive':
    case 'delete':
      return <Steps of={of} step={at} onClose={onClose} />
    case 'served':
      return <Served contextKey={of.context_key} onClose={onClose} />
    default:
      return null
  }
}

const SAYS: Readonly<Record<RemoteConfigurationDetail['status'], string>> = {
  draft: 'A draft is served to nobody, unless the group of an experiment names it.',
  active: 'Served to everybody below, unless an active configuration of this key that was activated later fits, too.',
  archived: 'Archived for good: it is served to nobody, and cannot be changed.',
}

const Serving = ({ of: configuration }: { of: RemoteConfigurationDetail }) => (
  <Card title={t('Whom it is served to')}>
    <p className="growth-note">{t(SAYS[configuration.status])}</p>
    <Pairs
      rows={[
        [t('App asks'), <bdi key="key">{contextText(configuration.context_key)}</bdi>],
        [t('Share'), <PercentBar key="share" percent={configuration.segment_percent} />],
        [t('Audience'), <ConditionsInWords key="audience" conditions={configuration.segmentation_conditions} />],
        [t('Changed'), <Time key="changed" at={configuration.updated_at} relative />],
        [t('Made'), <Time key="made" at={configuration.created_at} />],
        [t('Id'), <Copy key="id" text={configuration.id} />],
      ]}
    />
  </Card>
)
