import type { Tx } from '../../../store/connect.ts'
import { lockInOrder } from '../../../store/lock-in-order.ts'
import type { Condition } from '../../audience/segments/condition.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict, type Holder, inUse, notFound } from '../../kernel/refusal.ts'

export type Configuration = {
  id: string
  name: string
  status: ConfigurationStatus
  /** Decimal text. */
  segment_percent: string
  segmentation_conditions: Condition[]
  context_key: string | null
  created_at: string
  updated_at: string
}

export type ConfigurationStatus = 'draft' | 'active' | 'archived'

export const CONFIGURATION_COLUMNS = 'id, name, status, segment_percent, segmentation_conditions, context_key, created_at, updated_at'

export type JsonObject = Record<string, unknown>

export type PayloadType = 'String' | 'Number' | 'Bool' | 'Json' | 'Color' | 'Products' | 'Screens'

export type ConfigurationDetail = Configuration & { payload: JsonObject; payload_mapping: Record<string, PayloadType> }

// The order of row locks where experiments and the objects that they use meet: experiments by id, their groups, remote configuration or
// offering, user. A transaction that writes groups locks the experiment first.

type Strength = 'update' | 'no key update' | 'share'

/** Locks one remote configuration until the end of the transaction. `what`: its name in the error `not_found`. */
export async function lockConfiguration(
  tx: Tx,
  environment: Environment,
  id: string,
  strength: Strength,
  what = 'remote configuration',
): Promise<Configuration> {
  const { rows } = await tx.query<Configuration>(
    `select ${CONFIGURATION_COLUMNS} from remote_configurations where environment = $1 and id = $2 for ${strength}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound(what)
  return rows[0]
}

/** Locks a remote configuration for a change of fields that never change once it is archived. */
export async function lockWritable(tx: Tx, environment: Environment, id: string): Promise<ConfigurationDetail> {
  const { rows } = await tx.query<ConfigurationDetail>(
    `select ${CONFIGURATION_COLUMNS}, payload, payload_mapping from remote_configurations where environment = $1 and id = $2 for no key update`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('remote configuration')
  refuseArchived(rows[0])
  return rows[0]
}

export function refuseArchived({ status }: Configuration): void {
  if (status === 'archived') throw conflict('the remote configuration is archived and read-only')
}

/** Locks a remote configuration together with the experiments that use it, so that none of them starts in the meantime. */
export async function lockWithUses(tx: Tx, environment: Environment, id: string, strength: Strength): Promise<Configuration> {
  await tx.query(
    lockInOrder({
      ...{ table: 'experiments', key: 'id', where: 'environment = $1', strength: 'share' },
      keys: 'array(select experiment_id from experiment_groups where environment = $1 and remote_config_uid = $2)',
    }),
    [environment, id],
  )
  return lockConfiguration(tx, environment, id, strength)
}

/**
 * Throws `conflict` while a running experiment uses the remote configuration. Call this function after `lockWithUses`: as a statement of its own
 * it sees the groups whose creation the lock has waited for.
 */
export async function refuseInUse(tx: Tx, environment: Environment, id: string): Promise<void> {
  const { rows } = await tx.query<Holder>(
    `select e.status || ' experiment' as kind, e.id, e.name as title from experiment_groups g join experiments e on e.environment = g.environment and e.id = g.experiment_id
     where g.environment = $1 and g.remote_config_uid = $2 and e.status in ('active', 'paused') limit 1`,
    [environment, id],
  )
  if (rows[0]) throw inUse('remote configuration', rows[0])
}
