import { Button, Tooltip } from '@mantine/core'
import type { CustomerData, UserEntitlement } from '../../../../clients/typescript/src/index.ts'
import { useNoNetwork } from '../../data/online.ts'
import { useRead } from '../../data/read.ts'
import { Card } from '../../parts/card.tsx'
import { DataState } from '../../parts/data-state.tsx'
import { Fault } from '../../parts/fault.tsx'
import { StatusChip } from '../../parts/status-chip.tsx'
import { plain, t } from '../../parts/t.ts'
import { Time } from '../../parts/time.tsx'
import { useTake } from './use-access.ts'

export const NEEDS_EDITOR = 'needs the role editor'

/** What the customer may use now and what they could, where it comes from and until when. */
export function Access({ id, view }: { id: string; view: CustomerData }) {
  const read = useRead('v4ListUserEntitlements', { path: { user_id: id } }, { topics: ['events'] })
  const { take, isPending, error, reset } = useTake(id, view)
  const noNetwork = useNoNetwork()
  return (
    <Card title={t('Access now')}>
      {error && <Fault error={error} retry={reset} />}
      <DataState
        of={read}
        rows={3}
        isEmpty={({ data }) => data.length === 0}
        empty={<p className="soft">{t('None, and none was ever held.')}</p>}
      >
        {({ data }) => (
          <ul className="access">
            {data
              .toSorted((a, b) => Number(b.is_active) - Number(a.is_active))
              .map(one => (
                <Held
                  key={one.id}
                  one={one}
                  take={() => take(one)}
                  waits={isPending}
                  denied={view.canEditEntitlements ? noNetwork : NEEDS_EDITOR}
                />
              ))}
          </ul>
        )}
      </DataState>
    </Card>
  )
}

const STORES: Readonly<Record<string, string>> = { appstore: 'App Store', playstore: 'Google Play' }

function Held({ one, take, waits, denied }: { one: UserEntitlement; take: () => void; waits: boolean; denied: string | undefined }) {
  const { id, is_active, source, product, started_at, expires_at } = one
  const isManual = source === 'manual'
  const origin = isManual ? t('given, not bought') : [STORES[source] ?? plain(source), product?.product_id].filter(Boolean).join(', ')
  const renew = product?.subscription?.renew_state
  return (
    <li>
      <div>
        <div className="access-name">
          <strong title={id}>{id}</strong>
          <StatusChip status={is_active ? 'active' : 'expired'} />
        </div>
        <div className="line-more">
          {origin}
          {renew && is_active && <> · {plain(renew).toLowerCase()}</>}
        </div>
        <div className="line-more">
          {expires_at ? (
            <>
              {is_active ? t('until') : t('ended')} <Time at={expires_at} />
            </>
          ) : (
            is_active && t('for ever')
          )}
        </div>
        {started_at && (
          <div className="line-more">
            {t('since')} <Time at={started_at} />
          </div>
        )}
      </div>
      {isManual && is_active && (
        <Tooltip label={t(denied ?? '')} disabled={denied === undefined}>
          <Button
            size="compact-sm"
            variant="default"
            className="access-take"
            disabled={denied !== undefined || waits}
            onClick={take}
            aria-label={t('Take away {name}', { name: id })}
          >
            {t('Take away')}
          </Button>
        </Tooltip>
      )}
    </li>
  )
}
