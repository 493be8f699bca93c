// Questions to cohorts, LTV and trial conversion, in terms of what happened: ranges begin and end at anchors of the history, or beside them.
import fc from 'fast-check'
import { type Attribute, classOf } from '../../oracle/attributes.ts'
import { type CohortQuestion, cohortsAnswer, type Grouping } from '../../oracle/cohorts.ts'
import { DAY, type Instant } from '../../oracle/history.ts'
import { ltvAnswer, trialConversionAnswer } from '../../oracle/ltv.ts'
import { anchorOf, type Definition, type Mode, type Revenue } from '../../oracle/members.ts'
import { dayOf } from '../../oracle/rates.ts'
import type { World } from '../../oracle/world.ts'
import { LABELS } from './answer-difference.ts'
import { DEVICES, rarely } from './plans.ts'

type Edge = { instant: number; beside: number }
type Operation = 'cohorts' | 'ltv' | 'ltv/trial-conversion'
export type CohortPlan = {
  operation: Operation
  from: Edge
  to: Edge
  mode: Mode
  grouping: Grouping
  definition: Definition
  revenue: Revenue
  currency: string
  rateDay: number | null
  filters: { attribute: Attribute; values: number[] }[]
  segment: Attribute | null
}

const SEGMENTED: Attribute[] = ['target_platform', 'product_id', 'country', 'media_source_name', 'campaign_name']
const FILTERED: Attribute[] = [...SEGMENTED, 'app_version', 'device_id', 'segment_id', 'experiment_group_id']

/** A day before what happened: then every period that is paid has begun. */
const edge: fc.Arbitrary<Edge> = fc.record({ instant: fc.nat(99), beside: fc.constantFrom(0, 0, 1, -1, DAY, -DAY, 40 * DAY, -40 * DAY) })

const filters = (minLength: number, maxLength: number) =>
  fc.uniqueArray(fc.record({ attribute: fc.constantFrom(...FILTERED), values: fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }) }), {
    minLength,
    maxLength,
    selector: one => one.attribute,
  })

export const cohortPlan: fc.Arbitrary<CohortPlan> = fc.record({
  operation: fc.constantFrom<Operation[]>('cohorts', 'cohorts', 'cohorts', 'ltv', 'ltv', 'ltv/trial-conversion'),
  from: edge,
  to: edge,
  mode: fc.constantFrom<Mode[]>('by_renewals', 'by_days'),
  grouping: fc.constantFrom<Grouping[]>('day', 'week', 'month', 'quarter', 'year'),
  definition: fc.constantFrom<Definition[]>('new_customers', 'initial_conversions', 'new_paying'),
  revenue: fc.constantFrom<Revenue[]>('gross', 'net'),
  currency: fc.constantFrom('USD', 'USD', 'EUR', 'TRY'),
  rateDay: rarely(fc.nat(700), 4),
  filters: fc.oneof({ weight: 3, arbitrary: filters(0, 0) }, { weight: 2, arbitrary: filters(1, 2) }),
  segment: rarely(fc.constantFrom(...SEGMENTED), 1),
})

/** All anchors, and now. */
function anchorsIn(world: World): Instant[] {
  const definitions: Definition[] = ['new_customers', 'initial_conversions', 'new_paying']
  const anchors = world.history.users.flatMap(({ id }) => definitions.flatMap(definition => anchorOf(world, id, definition) ?? []))
  return [...new Set([...anchors, world.history.now])].sort((a, b) => a - b)
}

function rangeOf(plan: CohortPlan, world: World): { cohortFrom: Instant; cohortTo: Instant } {
  const anchors = anchorsIn(world)
  const at = ({ instant, beside }: Edge) => Math.max(1, anchors[instant % anchors.length]! + beside)
  const [from, to] = [at(plan.from), at(plan.to)].sort((a, b) => a - b) as [Instant, Instant]
  // Everybody who is not too long ago for cohorts by day.
  return from < to
    ? { cohortFrom: from, cohortTo: to }
    : { cohortFrom: Math.max(1, world.history.now - 390 * DAY), cohortTo: world.history.now }
}

/** A value that somebody has, or one that nobody has. */
function named(world: World, attribute: Attribute, n: number): string {
  if (attribute === 'device_id') return DEVICES[n % DEVICES.length]!
  if (attribute === 'segment_id') return Object.keys(world.history.segments)[0]!
  if (attribute === 'experiment_group_id') {
    const groups = Object.keys(world.history.experimentGroups)
    return groups[n % groups.length]!
  }
  const transactions = world.charged.map(one => one.transaction)
  const values = [...new Set(world.history.users.map(({ id }) => classOf(world.history, id, transactions)(attribute)))].sort()
  return values[n % (values.length + 1)] ?? 'nobody has it'
}

export function cohortQuestionOf(plan: CohortPlan, world: World): CohortQuestion {
  const { mode, grouping, definition, revenue, currency, rateDay, segment } = plan
  const range = rangeOf(plan, world)
  const isTooMany = grouping === 'day' && range.cohortTo - range.cohortFrom > 390 * DAY
  const filters = plan.filters.map(({ attribute, values }) => [attribute, [...new Set(values.map(n => named(world, attribute, n)))]])
  return {
    ...range,
    mode,
    grouping: isTooMany ? 'week' : grouping,
    definition,
    revenue,
    conversion: { currency, ...(rateDay !== null && { rateDate: dayOf(world.history.now - rateDay * DAY) }) },
    filters: Object.fromEntries(filters),
    ...(segment && { segment }),
  }
}

export function cohortPath(operation: Operation, question: CohortQuestion): string {
  const query = new URLSearchParams({
    cohort_from: String(question.cohortFrom),
    cohort_to: String(question.cohortTo),
    mode: question.mode,
    revenue_type: question.revenue,
    currency: question.conversion.currency,
    ...(operation === 'cohorts' && { grouping: question.grouping, cohort_definition: question.definition }),
    ...(question.conversion.rateDate && { rate_date: question.conversion.rateDate }),
    ...(question.segment && { segment: question.segment }),
  })
  for (const [attribute, values] of Object.entries(question.filters))
    for (const value of values) query.append(`filter[${attribute}][]`, value)
  return `/v4/analytics/${operation}?${query}`
}

/** What the witness answers. */
export function witnessOf(operation: Operation, world: World, question: CohortQuestion): object {
  if (operation === 'cohorts') return cohortsAnswer(world, question, LABELS)
  return operation === 'ltv' ? ltvAnswer(world, question, LABELS) : trialConversionAnswer(world, question)
}
