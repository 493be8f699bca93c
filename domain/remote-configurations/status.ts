import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { conflict } from '../refusal.ts'
import { missingSegments } from '../segments/missing.ts'
import { type Change, CONFIGURATION_COLUMNS, type Configuration, type ConfigurationStatus, unchanged } from './configuration.ts'
import { lockConfiguration, lockWithUses, refuseInUse } from './lock.ts'

const NEXT: Record<ConfigurationStatus, readonly ConfigurationStatus[]> = {
  draft: ['active', 'archived'],
  active: ['archived'],
  archived: [],
}

/** Setting the status that it has changes nothing. */
export async function changeStatus(
  tx: Tx,
  environment: Environment,
  id: string,
  status: ConfigurationStatus,
): Promise<Change<Configuration>> {
  const lock = status === 'archived' ? lockWithUses : lockConfiguration
  const before = await lock(tx, environment, id, 'no key update')
  if (before.status === status) return unchanged(before)
  if (!NEXT[before.status].includes(status)) throw conflict(`a remote configuration that is ${before.status} cannot become ${status}`)
  if (status === 'archived') await refuseInUse(tx, environment, id)
  if (status === 'active') {
    const missing = await missingSegments(tx, environment, before.segmentation_conditions)
    if (missing.length > 0) throw conflict(`a condition names a segment that no longer exists: ${missing[0]}`)
  }
  const { rows } = await tx.query<Configuration>(
    `update remote_configurations set status = $3, updated_at = t, activated_at = case when $3 = 'active' then t else activated_at end
     from environment_now($1) t where environment = $1 and id = $2 returning ${CONFIGURATION_COLUMNS}`,
    [environment, id, status],
  )
  return { before, after: rows[0]! }
}
