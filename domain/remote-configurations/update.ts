import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { checkConditions } from '../segments/check.ts'
import { shownCondition } from '../segments/condition.ts'
import { type Change, CONFIGURATION_COLUMNS, type Configuration, unchanged } from './configuration.ts'
import type { ConfigurationInput } from './create.ts'
import { lockWritable } from './lock.ts'

/** Replaces what a caller sets; status, payload and mapping stay. */
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
