import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Detail, Refusal } from '../refusal.ts'
import { type Condition, type ConditionInput, segmentIdsIn, shownCondition } from './condition.ts'
import { COMPARATORS, entitlementOf, isReference, kindOf } from './metrics.ts'
import { lockSegments } from './missing.ts'
import { valueFault } from './value.ts'

function fault({ metric, comparator, value }: ConditionInput, references: boolean): Detail | null {
  const kind = kindOf(metric)
  if (!kind) return { field: 'metric', message: 'is not a metric' }
  if (isReference(kind) && !references) return { field: 'metric', message: 'cannot stand in the conditions of a segment' }
  if (!COMPARATORS[kind].includes(comparator))
    return { field: 'comparator', message: `must be one of ${COMPARATORS[kind].join(', ')} for this metric` }
  const reason = valueFault(metric, kind, comparator, value)
  return reason === null ? null : { field: 'value', message: reason }
}

/** The ids of entitlements and experiments in the conditions that there are, as `entitlement:…` and `experiment:…`. */
async function existing(tx: Tx, environment: Environment, conditions: readonly ConditionInput[]): Promise<Set<string>> {
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
 * Conditions as they are stored. Throws `invalid_data` with every fault, `{field}[2].value`; ids that name nothing are faults too.
 * `references`: whether users may be chosen by segment and experiment. Segments that are named cannot be deleted before the
 * transaction ends.
 */
export async function checkConditions(
  tx: Tx,
  environment: Environment,
  conditions: readonly ConditionInput[],
  field: string,
  references: boolean,
): Promise<Condition[]> {
  const faults = conditions.map(condition => fault(condition, references))
  const good = conditions.filter((_, i) => !faults[i])
  const known = await existing(tx, environment, good)
  const missing = new Set(await lockSegments(tx, environment, segmentIdsIn(good)))
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
