import type { Push } from '../../../../clients/typescript/src/index.ts'
import { StatusChip } from '../../parts/status-chip.tsx'
import { t } from '../../parts/t.ts'

/** A push has no status of its own: whether anything sends it is that of its automations, of which the first one says most. */
export function InUse({ of: { used_by: [first] = [] } }: { of: Push }) {
  if (first === undefined) return <StatusChip status="unused" tone="mute" label={t('Not used')} />
  if (first.status === 'active') return <StatusChip status="active" label={t('In use')} />
  return first.status === 'paused' ? (
    <StatusChip status="paused" label={t('Paused')} />
  ) : (
    <StatusChip status="inactive" label={t('Nothing sends it now')} />
  )
}
