import type { Db, Tx } from '../../../store/connect.ts'
import { uuid } from '../../../store/ids.ts'
import { checkConditions } from '../../audience/segments/check.ts'
import { type ConditionInput, shownCondition } from '../../audience/segments/condition.ts'
import { refuseMissingSegments } from '../../audience/segments/missing.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { conflict, notFound } from '../../kernel/refusal.ts'
import {
  CONFIGURATION_COLUMNS,
  type Configuration,
  type ConfigurationDetail,
  type ConfigurationStatus,
  lockConfiguration,
  lockWithUses,
  lockWritable,
  refuseInUse,
} from './lock.ts'

/** The object before and after a mutation; the same object twice when nothing changed. */
export type Change<T> = { before: T; after: T }
export const unchanged = <T>(row: T): Change<T> => ({ before: row, after: row })

/** Includes payload and mapping. */
export async function getConfiguration(db: Db, environment: Environment, id: string): Promise<ConfigurationDetail> {
  const { rows } = await db.query<ConfigurationDetail>({
    name: 'get-configuration',
    text: `select ${CONFIGURATION_COLUMNS}, payload, payload_mapping from remote_configurations where environment = $1 and id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('remote configuration')
  return rows[0]
}

const LISTED = { table: 'remote_configurations', columns: CONFIGURATION_COLUMNS, order: 'newest' as const }

export const listConfigurations = (
  db: Db,
  environment: Environment,
  limit: number,
  after: string | undefined,
): Promise<Page<Configuration>> => pageOf(db, LISTED, environment, { limit, after })

type ConfigurationInput = {
  name: string
  context_key: string | null
  segment_percent: number
  segmentation_conditions: ConditionInput[]
}

/** Creates a draft with an empty payload and an empty mapping. */
export async function createConfiguration(tx: Tx, environment: Environment, input: ConfigurationInput): Promise<Configuration> {
  const conditions = await checkConditions(tx, environment, input.segmentation_conditions, 'segmentation_conditions', true)
  const { rows } = await tx.query<Configuration>(
    `insert into remote_configurations (environment, id, name, context_key, segment_percent, segmentation_conditions, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, t, t from date_trunc('second', environment_now($1)) t returning ${CONFIGURATION_COLUMNS}`,
    [environment, uuid(), input.name, input.context_key, input.segment_percent, JSON.stringify(conditions)],
  )
  return rows[0]!
}

/** Replaces the fields of the input; status, payload and mapping stay. */
export async function replaceConfiguration(
  tx: Tx,
  environment: Environment,
  id: string,
  input: ConfigurationInput,
): Promise<Change<Configuration>> {
  const before = await lockWritable(tx, environment, id)
  const conditions = await checkConditions(tx, environment, input.segmentation_conditions, 'segmentation_conditions', true)
  const isSame =
    before.name === input.name &&
    before.context_key === input.context_key &&
    Number(before.segment_percent) === input.segment_percent &&
    JSON.stringify(before.segmentation_conditions.map(shownCondition)) === JSON.stringify(conditions)
  if (isSame) return unchanged(before)
  const { rows } = await tx.query<Configuration>(
    `update remote_configurations set name = $3, context_key = $4, segment_percent = $5, segmentation_conditions = $6,
       updated_at = environment_now($1)
     where environment = $1 and id = $2 returning ${CONFIGURATION_COLUMNS}`,
    [environment, id, input.name, input.context_key, input.segment_percent, JSON.stringify(conditions)],
  )
  return { before, after: rows[0]! }
}

const NEXT: Record<ConfigurationStatus, readonly ConfigurationStatus[]> = {
  draft: ['active', 'archived'],
  active: ['archived'],
  archived: [],
}

/** Nothing changes when the remote configuration has the status already. */
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
  if (status === 'active') await refuseMissingSegments(tx, environment, before.segmentation_conditions)
  const { rows } = await tx.query<Configuration>(
    `update remote_configurations set status = $3, updated_at = t, activated_at = case when $3 = 'active' then t else activated_at end
     from environment_now($1) t where environment = $1 and id = $2 returning ${CONFIGURATION_COLUMNS}`,
    [environment, id, status],
  )
  return { before, after: rows[0]! }
}

/** Deletes a remote configuration with its pins. Groups of drafts lose it; groups of finished experiments keep its id as history. */
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
