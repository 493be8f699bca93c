import type { Db, Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { checkConditions } from '../../audience/segments/check.ts'
import { type Condition, type ConditionInput, shownCondition } from '../../audience/segments/condition.ts'
import { dropVariant } from '../../catalogue/offerings/variant.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { alreadyExists, conflict, notFound } from '../../kernel/refusal.ts'

export type ExperimentStatus = 'draft' | 'active' | 'paused' | 'finished'
export type PrimaryMetric =
  | 'user_to_trial'
  | 'user_to_paid'
  | 'free_trials'
  | 'trial_to_paid'
  | 'trial_cancellation'
  | 'new_subscriptions'
  | 'subscription_cancellation'
  | 'sales'
  | 'proceeds'
  | 'refunds'
type GoalDirection = 'increase' | 'decrease'

export type Experiment = {
  id: string
  name: string
  alias_id: string
  description: string | null
  status: ExperimentStatus
  started_at: string | null
  finished_at: string | null
  /** Decimal text. */
  segment_percent: string | null
  primary_metric: PrimaryMetric | null
  /** Decimal text. */
  goal_value: string | null
  goal_direction: GoalDirection | null
  context_key: string
  is_context_specific: boolean
  segmentation_conditions: Condition[]
  created_at: string
  updated_at: string
}

export const EXPERIMENT_COLUMNS = `id, name, alias_id, description, status, started_at, finished_at, segment_percent, primary_metric,
  goal_value, goal_direction, context_key, is_context_specific, segmentation_conditions, created_at, updated_at`

export type ExperimentGroup = {
  id: string
  experiment_id: string
  name: string | null
  is_control: boolean
  /** Decimal text. */
  weight: string
  remote_config_uid: string | null
  offering_uid: string | null
  offering_tag: number | null
  created_at: string
  updated_at: string
}

export const GROUP_COLUMNS = `id, experiment_id, name, is_control, weight, remote_config_uid, offering_uid, offering_tag, created_at,
  updated_at`

/**
 * Locks the experiment until the end of the transaction. `no key update` for a change of the experiment or of its groups, `share` for a
 * transaction that needs its status to stay the same. The order of locks is in remote-configurations/lock.ts.
 */
export async function lockExperiment(
  tx: Tx,
  environment: Environment,
  id: string,
  strength: 'no key update' | 'share' = 'no key update',
): Promise<Experiment> {
  const { rows } = await tx.query<Experiment>(
    `select ${EXPERIMENT_COLUMNS} from experiments where environment = $1 and id = $2 for ${strength}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('experiment')
  return rows[0]
}

export async function getExperiment(db: Db, environment: Environment, id: string): Promise<Experiment> {
  const { rows } = await db.query<Experiment>({
    name: 'get-experiment',
    text: `select ${EXPERIMENT_COLUMNS} from experiments where environment = $1 and id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('experiment')
  return rows[0]
}

/** `share`: of the users taken in, in percent; null while no group has a weight. `offering_product_ids`: what its own offering holds. */
export type ServedGroup = ExperimentGroup & {
  share: number | null
  configuration_name: string | null
  offering_product_ids: string[] | null
}

const SERVED = `
  select ${GROUP_COLUMNS}, round(weight * 100 / nullif(sum(weight) over (), 0), 4)::float8 as share,
    (select c.name from remote_configurations c where c.environment = $1 and c.id = g.remote_config_uid) as configuration_name,
    case when offering_uid is not null then array(
      select o.product_id from offering_products o where o.environment = $1 and o.offering_id = g.offering_uid order by o.position) end as offering_product_ids
  from experiment_groups g where environment = $1 and experiment_id = $2 order by n`

/** In the order of creation, with what each serves. */
export async function listGroups(db: Db, environment: Environment, experiment: string): Promise<ServedGroup[]> {
  const known = await db.query('select 1 from experiments where environment = $1 and id = $2', [environment, experiment])
  if (known.rowCount === 0) throw notFound('experiment')
  return (await db.query<ServedGroup>(SERVED, [environment, experiment])).rows
}

export async function groupsOf(db: Db, environment: Environment, experiment: string): Promise<ExperimentGroup[]> {
  const { rows } = await db.query<ExperimentGroup>(
    `select ${GROUP_COLUMNS} from experiment_groups where environment = $1 and experiment_id = $2 order by n`,
    [environment, experiment],
  )
  return rows
}

const LISTED = { table: 'experiments', columns: EXPERIMENT_COLUMNS, order: 'newest' as const }

export const listExperiments = (db: Db, environment: Environment, limit: number, after: string | undefined): Promise<Page<Experiment>> =>
  pageOf(db, LISTED, environment, { limit, after })

export type ExperimentInput = {
  name: string
  alias_id: string
  description: string | null
  segment_percent: number | null
  primary_metric: PrimaryMetric | null
  goal_value: number | null
  goal_direction: GoalDirection | null
  context_key: string
  is_context_specific: boolean
  segmentation_conditions: ConditionInput[]
}

export const takenAlias = (alias: string) => alreadyExists(`an experiment with alias_id ${alias} exists already`)

/** An input, or a row of the table: numbers are decimal text there. */
type Stored<Input> = { [field in keyof Input]: number extends Input[field] ? Input[field] | string : Input[field] }

/** The values in the order in which the statements take them. */
export const valuesOf = (input: Stored<ExperimentInput>): unknown[] => [
  input.name,
  input.alias_id,
  input.description,
  input.segment_percent,
  input.primary_metric,
  input.goal_value,
  input.goal_direction,
  input.context_key,
  input.is_context_specific,
  JSON.stringify(input.segmentation_conditions.map(shownCondition)),
]

/** Creates a draft without groups. The unique index decides between two writers of one alias. */
export async function createExperiment(tx: Tx, environment: Environment, input: ExperimentInput): Promise<Experiment> {
  const segmentation_conditions = await checkConditions(tx, environment, input.segmentation_conditions, 'segmentation_conditions', true)
  const { rows } = await tx.query<Experiment>(
    `insert into experiments (environment, id, name, alias_id, description, segment_percent, primary_metric, goal_value, goal_direction,
       context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, alias_id) do nothing returning ${EXPERIMENT_COLUMNS}`,
    [environment, orderedId('exp'), ...valuesOf({ ...input, segmentation_conditions })],
  )
  if (!rows[0]) throw takenAlias(input.alias_id)
  return rows[0]
}

/** Deletes an experiment. Foreign keys delete its groups and assignments; the groups' offerings are deleted here. */
export async function deleteExperiment(tx: Tx, environment: Environment, id: string): Promise<Experiment> {
  const experiment = await lockExperiment(tx, environment, id)
  if (experiment.status === 'active' || experiment.status === 'paused')
    throw conflict(`the experiment is ${experiment.status}: finish it first`)
  for (const group of await groupsOf(tx, environment, id)) if (group.offering_uid !== null) await dropVariant(tx, environment, group.id)
  await tx.query('delete from experiments where environment = $1 and id = $2', [environment, id])
  return experiment
}
