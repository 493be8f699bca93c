import type { Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import type { Environment } from '../environment.ts'
import { conflict } from '../refusal.ts'
import { type Change, unchanged } from '../remote-configurations/configuration.ts'
import { checkConditions } from '../segments/check.ts'
import { shownCondition } from '../segments/condition.ts'
import { EXPERIMENT_COLUMNS, type Experiment, type ExperimentInput, lockExperiment, takenAlias } from './experiment.ts'

type Field = keyof ExperimentInput
const DRAFT_ONLY: readonly Field[] = ['alias_id', 'context_key', 'is_context_specific', 'segmentation_conditions']
const NUMBERS: readonly Field[] = ['segment_percent', 'goal_value']

/** A field's value in a form that can be compared, as it is stored or as it was sent. */
function comparable(field: Field, value: unknown): string {
  if (field === 'segmentation_conditions') return JSON.stringify((value as ExperimentInput[typeof field]).map(shownCondition))
  return JSON.stringify(NUMBERS.includes(field) && value !== null ? Number(value) : value)
}

/** Only given fields that differ change; which of them may depends on the state. */
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
  const values = changed.map(field => (field === 'segmentation_conditions' ? comparable(field, input[field]) : input[field]))
  try {
    const { rows } = await tx.query<Experiment>(
      `update experiments set ${changed.map((field, i) => `${field} = $${i + 3}`).join(', ')}, updated_at = environment_now($1)
       where environment = $1 and id = $2 returning ${EXPERIMENT_COLUMNS}`,
      [environment, id, ...values],
    )
    return { before, after: rows[0]! }
  } catch (error) {
    if (isUniqueViolation(error, 'experiments_by_alias')) throw takenAlias(input.alias_id!)
    throw error
  }
}
