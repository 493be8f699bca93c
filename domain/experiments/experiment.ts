import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import type { Condition } from '../segments/condition.ts'

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
export type GoalDirection = 'increase' | 'decrease'

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

export type Group = {
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
 * Holds the experiment until the end of the transaction. `no key update` for everything that changes it or its groups, `share` for
 * what must only not see its state change. Order of locks: remote-configurations/lock.ts.
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
