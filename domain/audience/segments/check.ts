import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Detail, Refusal } from '../../kernel/refusal.ts'
import { type Condition, type ConditionInput, segmentIdsIn, shownCondition } from './condition.ts'
import { COMPARATORS, entitlementOf, isInternal, isReference, metricKind } from './metrics.ts'
import { lockSegments } from './missing.ts'
import { valueFault } from './value.ts'

function fault({ metric, comparator, value }: ConditionInput, references: boolean): Detail | null {
  const kind = metricKind(metric)
  if (!kind || isInternal(kind)) return { field: 'metric', message: 'must be a metric such as country, purchases_count or property:plan' }
  if (isReference(kind) && !references) return { field: 'metric', message: 'is not allowed in the conditions of a segment' }
  if (!COMPARATORS[kind].includes(comparator))
    return { field: 'comparator', message: `must be one of ${COMPARATORS[kind].join(', ')} for this metric` }
  const reason = valueFault(metric, kind, comparator, value)
  return reason === null ? null : { field: 'value', message: reason }
}

/** The entitlements and experiments that the conditions name and that exist, as `entitlement:<id>` and `experiment:<id>`. */
async function existingReferences(tx: Tx, environment: Environment, conditions: readonly ConditionInput[]): Promise<Set<string>> {
  const entitlements = conditions.flatMap(({ metric }) => entitlementOf(metric) ?? [])
  const experiments = conditions.filter(({ metric }) => metric === 'attached_experiment').map(({ value }) => value)
  if (entitlements.length + experiments.length === 0) return new Set()
  const { rows } = await tx.query<{ name: string }>(
    `select 'entitlement:' || id as name from entitlements where environment = $1 and id = any ($2::text[])
     union all select 'experiment:' || id from experiments where environment = $1 and id = any ($3::text[])`,
    [environment, entitlements, experiments],
  )
  return new Set(rows.map(({ name }) => name))
}

/**
 * Validates conditions and returns them in the form in which they are stored. Throws `invalid_data` with every fault, for example of
 * `{field}[2].value`; an id that names no object is a fault too. `references`: whether conditions on segments and experiments are allowed.
 * The segments that the conditions name cannot be deleted before the transaction ends.
 */
export async function checkConditions(
  tx: Tx,
  environment: Environment,
  conditions: readonly ConditionInput[],
  field: string,
  references: boolean,
): Promise<Condition[]> {
  const faults = conditions.map(condition => fault(condition, references))
  const wellFormed = conditions.filter((_, i) => !faults[i])
  const known = await existingReferences(tx, environment, wellFormed)
  const missing = new Set(await lockSegments(tx, environment, segmentIdsIn(wellFormed)))
  const unknown = ({ metric, value }: ConditionInput): Detail | null => {
    if (metric === 'segment' && missing.has(value)) return { field: 'value', message: 'names no segment' }
    if (metric === 'attached_experiment' && !known.has(`experiment:${value}`)) return { field: 'value', message: 'names no experiment' }
    return entitlementOf(metric) !== null && !known.has(metric) ? { field: 'metric', message: 'names no entitlement' } : null
  }
  const details = conditions.flatMap((condition, i) => {
    const found = faults[i] ?? unknown(condition)
    return found ? [{ field: `${field}[${i}].${found.field}`, message: found.message }] : []
  })
  if (details.length > 0) {
    const message = details.map(detail => `${detail.field} ${detail.message}`).join('; ')
    throw new Refusal('invalid_data', message.slice(0, 1000), details)
  }
  return conditions.map(shownCondition)
}
