import type { Tx } from '../../../store/connect.ts'
import { isUniqueViolation } from '../../../store/failures.ts'
import { checkConditions } from '../../audience/segments/check.ts'
import { shownCondition } from '../../audience/segments/condition.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict } from '../../kernel/refusal.ts'
import { type Change, unchanged } from '../remote-configurations/configuration.ts'
import { EXPERIMENT_COLUMNS, type Experiment, type ExperimentInput, lockExperiment, takenAlias, valuesOf } from './experiment.ts'

type Field = keyof ExperimentInput
const DRAFT_ONLY: readonly Field[] = ['alias_id', 'context_key', 'is_context_specific', 'segmentation_conditions']
const NUMBERS: readonly Field[] = ['segment_percent', 'goal_value']

/** The value of a field in one form for comparison, whether it comes from the table or from the request. */
function comparable(field: Field, value: unknown): string {
  if (field === 'segmentation_conditions') return JSON.stringify((value as ExperimentInput[typeof field]).map(shownCondition))
  return JSON.stringify(NUMBERS.includes(field) && value !== null ? Number(value) : value)
}

/** Changes the given fields that differ. The status decides which fields may change. */
export async function updateExperiment(
  tx: Tx,
  environment: Environment,
  id: string,
  input: Partial<ExperimentInput>,
): Promise<Change<Experiment>> {
  const before = await lockExperiment(tx, environment, id)
  const changed = (Object.keys(input) as Field[]).filter(
    field => input[field] !== undefined && comparable(field, before[field]) !== comparable(field, input[field]),
  )
  if (changed.length === 0) return unchanged(before)
  if (changed.includes('segmentation_conditions'))
    await checkConditions(tx, environment, input.segmentation_conditions!, 'segmentation_conditions', true)
  if (before.status === 'finished') throw conflict('a finished experiment cannot be changed')
  const late = before.status === 'draft' ? undefined : changed.find(field => DRAFT_ONLY.includes(field))
  if (late) throw conflict(`${late} can be changed in a draft only, the experiment is ${before.status}`)
  try {
    const { rows } = await tx.query<Experiment>(
      `update experiments set name = $3, alias_id = $4, description = $5, segment_percent = $6, primary_metric = $7, goal_value = $8,
         goal_direction = $9, context_key = $10, is_context_specific = $11, segmentation_conditions = $12, updated_at = environment_now($1)
       where environment = $1 and id = $2 returning ${EXPERIMENT_COLUMNS}`,
      [environment, id, ...valuesOf({ ...before, ...Object.fromEntries(changed.map(field => [field, input[field]])) })],
    )
    return { before, after: rows[0]! }
  } catch (error) {
    if (isUniqueViolation(error, 'experiments_by_alias')) throw takenAlias(input.alias_id!)
    throw error
  }
}
