import type { Push } from '../../../../clients/typescript/src/index.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'
import { UseName } from '../../parts/uses.tsx'

type Uses = Push['used_by']

/** As many as the service tells: there may be more. */
export const MOST = 50

/** A push has no status of its own: whether anything sends it is that of its automations, of which the first one says most. */
export function InUse({ of = [] }: { of: Uses }) {
  const [first] = of
  if (first === undefined) return <StatusChip status="unused" tone="mute" label={t('Not used')} />
  if (first.status === 'active') return <StatusChip status="active" label={t('In use')} />
  return first.status === 'paused' ? (
    <StatusChip status="paused" label={t('Paused')} />
  ) : (
    <StatusChip status="inactive" label={t('Nothing sends it now')} />
  )
}

/** The first automation, and how many more. */
export function UsedBy({ of = [] }: { of: Uses }) {
  const [first] = of
  if (first === undefined) return <span className="faint">{t('no automation')}</span>
  const more = of.length - 1
  return (
    <span className="pushes-uses">
      <UseName of={first} />
      {more > 0 && <span className="soft">{t('and {n} more', { n: of.length === MOST ? `${more}+` : more })}</span>}
    </span>
  )
}
