import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Configuration } from './configuration.ts'
import { lockWithUses, refuseInUse } from './lock.ts'

/** Deletes it with its pins. Groups of drafts lose it; finished experiments keep the id as history. */
export async function deleteConfiguration(tx: Tx, environment: Environment, id: string): Promise<Configuration> {
  const before = await lockWithUses(tx, environment, id, 'update')
  await refuseInUse(tx, environment, id)
  await tx.query(
    `update experiment_groups g set remote_config_uid = null, updated_at = environment_now($1) from experiments e
     where g.environment = $1 and g.remote_config_uid = $2 and e.environment = $1 and e.id = g.experiment_id and e.status = 'draft'`,
    [environment, id],
  )
  await tx.query('delete from remote_configurations where environment = $1 and id = $2', [environment, id])
  return before
}
