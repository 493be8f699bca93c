import type { Alert, StoreConfig } from '../../../../clients/typescript/src/index.ts'
import { useAddress } from '../../data/address.ts'
import { usePlace } from '../../data/place.ts'
import { useRead } from '../../data/read.ts'
import { useDenied } from '../../data/session.ts'
import { Act } from '../../parts/act.tsx'
import { Card, Pairs } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { Icon } from '../../parts/icon.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { EditStore } from './edit-store.tsx'
import { type Platform, STORES } from './store-fields.ts'

/** Apple has as much to show as the others together. */
const COLUMNS: readonly (readonly Platform[])[] = [['apple'], ['google', 'stripe', 'paddle']]

/** The stores of the project, what is stored of each, and what is wrong with it now. */
export default function StoresTab() {
  const alerts = useRead('v4ListAlerts', { query: { 'filter[status]': 'open', limit: 100 } }, { every: 30_000 })
  const of = (platform: string) => (alerts.data?.data ?? []).filter(({ holder }) => holder.kind === 'store' && holder.id === platform)
  const first = useRead('v4GetStoreConfig', { path: { platform: 'apple' } })
  // What a role may not see is said once, and not by each store.
  if (first.data === undefined && first.error?.status === 403) return <Fault error={first.error} retry={first.refetch} />
  return (
    <div className="grid half start">
      {COLUMNS.map(platforms => (
        <div key={platforms[0]} className="settings-cards">
          {platforms.map(platform => (
            <Store key={platform} platform={platform} alerts={of(platform)} />
          ))}
        </div>
      ))}
    </div>
  )
}

function Store({ platform, alerts }: { platform: Platform; alerts: readonly Alert[] }) {
  const [search, set] = useAddress()
  const denied = useDenied('admin', usePlace()?.project)
  const read = useRead('v4GetStoreConfig', { path: { platform } })
  const { title } = STORES[platform]
  const isOpen = search.at === platform
  return (
    <Card
      title={
        <span className="store-title">
          {title}
          {read.data &&
            (read.data.enabled ? <StatusChip status="active" label={t('On')} /> : <StatusChip status="none" label={t('Off')} />)}
        </span>
      }
      right={
        <Act
          denied={denied}
          size="xs"
          variant="default"
          aria-label={t('Edit {title}', { title })}
          onClick={() => set({ at: platform }, { push: true })}
        >
          {t('Edit')}
        </Act>
      }
    >
      {alerts.map(alert => (
        <div key={alert.id} className="store-alert">
          <Icon name="warn" size={15} />
          <p>
            {alert.message} <span className="soft">{t('since')}</span> <Time at={alert.began_at} relative />
          </p>
        </div>
      ))}
      <DataState of={read} rows={4}>
        {config => <Pairs rows={rowsOf(platform, config)} />}
      </DataState>
      {isOpen && read.data && denied === undefined && (
        <EditStore platform={platform} config={read.data} onClose={() => set({ at: undefined })} />
      )}
    </Card>
  )
}

function rowsOf(platform: Platform, config: StoreConfig): (readonly [string, React.ReactNode])[] {
  const values = config as unknown as Record<string, unknown>
  const { fields, secrets } = STORES[platform]
  return [
    ...Object.entries(fields).map(([name, label]) => [t(label), values[name] === null ? undefined : String(values[name])] as const),
    ...Object.entries(secrets).map(
      ([name, label]) =>
        [
          t(label),
          values[`has_${name}`] ? (
            <StatusChip key={name} status="done" label={t('stored')} />
          ) : (
            <StatusChip key={name} status="none" label={t('not stored')} />
          ),
        ] as const,
    ),
  ]
}
