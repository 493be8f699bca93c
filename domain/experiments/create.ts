import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { alreadyExists } from '../refusal.ts'
import { checkConditions } from '../segments/check.ts'
import type { ConditionInput } from '../segments/condition.ts'
import { EXPERIMENT_COLUMNS, type Experiment, type GoalDirection, type PrimaryMetric } from './experiment.ts'

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

/** A draft without groups. The unique index decides between two writers of one alias. */
export async function createExperiment(tx: Tx, environment: Environment, input: ExperimentInput): Promise<Experiment> {
  const conditions = await checkConditions(tx, environment, input.segmentation_conditions, 'segmentation_conditions', true)
  const { rows } = await tx.query<Experiment>(
    `insert into experiments (environment, id, name, alias_id, description, segment_percent, primary_metric, goal_value, goal_direction,
       context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, alias_id) do nothing returning ${EXPERIMENT_COLUMNS}`,
    [
      environment,
      orderedId('exp'),
      input.name,
      input.alias_id,
      input.description,
      input.segment_percent,
      input.primary_metric,
      input.goal_value,
      input.goal_direction,
      input.context_key,
      input.is_context_specific,
      JSON.stringify(conditions),
    ],
  )
  if (!rows[0]) throw takenAlias(input.alias_id)
  return rows[0]
}
