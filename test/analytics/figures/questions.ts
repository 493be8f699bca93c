// Questions to charts, in terms of what happened: windows begin and end at instants of the history, or beside them.
import fc from 'fast-check'
import type { ChartQuestion } from '../../oracle/answer.ts'
import { type Attribute, SEGMENTATIONS, valueOfTransaction } from '../../oracle/attributes.ts'
import { CHARTS } from '../../oracle/charts.ts'
import { instantsOf } from '../../oracle/facts.ts'
import { DAY, HOUR, type Instant } from '../../oracle/history.ts'
import { dayOf } from '../../oracle/rates.ts'
import { bucketsOf, type Unit } from '../../oracle/windows.ts'
import type { World } from '../../oracle/world.ts'
import { DEVICES, rarely } from './plans.ts'

type Edge = { instant: number; beside: number }
export type QuestionPlan = {
  code: string
  unit: Unit
  zone: string | undefined
  from: Edge
  to: Edge
  currency: string
  rateDay: number | null
  filters: { attribute: Attribute; values: number[] }[]
  segmentation: Attribute | null
  maxSeries: number
  previous: boolean
}

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
  'America/Sao_Paulo',
  'Africa/Casablanca',
  'Pacific/Apia',
]
const UNITS: Unit[] = ['hour', 'day', 'week', 'month']
/** An oracle that counts second by second answers for no more than these in time. */
const MOST_BUCKETS = 40

const ATTRIBUTES: Attribute[] = [...SEGMENTATIONS, 'device_id', 'segment_id', 'experiment_group_id']

const edge: fc.Arbitrary<Edge> = fc.record({
  instant: fc.nat(99),
  beside: fc.constantFrom(0, 0, 1, -1, 3601, -3601, DAY, -DAY, 30 * DAY + 17, -30 * DAY - 17),
})

const filters = (minLength: number, maxLength: number): fc.Arbitrary<QuestionPlan['filters']> =>
  fc.uniqueArray(fc.record({ attribute: fc.constantFrom(...ATTRIBUTES), values: fc.array(fc.nat(9), { minLength: 1, maxLength: 3 }) }), {
    minLength,
    maxLength,
    selector: one => one.attribute,
  })

export const question: fc.Arbitrary<QuestionPlan> = fc.record({
  code: fc.constantFrom(...Object.keys(CHARTS)),
  unit: fc.constantFrom(...UNITS),
  zone: fc.oneof(fc.constant(undefined), fc.constantFrom(...ZONES)),
  from: edge,
  to: edge,
  currency: fc.constantFrom('USD', 'USD', 'EUR', 'TRY'),
  rateDay: rarely(fc.nat(700), 4),
  filters: fc.oneof(
    { weight: 4, arbitrary: filters(0, 0) },
    { weight: 2, arbitrary: filters(1, 1) },
    { weight: 1, arbitrary: filters(2, 4) },
  ),
  segmentation: rarely(fc.constantFrom(...SEGMENTATIONS), 1),
  maxSeries: fc.nat(3),
  previous: fc.boolean(),
})

/** Everything that a window could begin or end with, in order. */
function instantsIn(world: World): Instant[] {
  const { history } = world
  const all = [
    ...history.users.map(user => user.createdAt),
    ...world.charged.flatMap(({ transaction }) => [transaction.at, ...transaction.refunds.map(refund => refund.at)]),
    ...world.subscriptions.flatMap(instantsOf),
    ...history.occurrences.map(occurrence => occurrence.happenedAt),
  ]
  return [...new Set(all)].filter(at => at <= history.now - HOUR / 2).sort((a, b) => a - b)
}

function windowOf(plan: QuestionPlan, world: World): { from: Instant; to: Instant } {
  const instants = instantsIn(world)
  const at = ({ instant, beside }: Edge) => Math.max(1, instants[instant % instants.length]! + beside)
  const [from, to] = [at(plan.from), at(plan.to)].sort((a, b) => a - b) as [Instant, Instant]
  // As many ask for what goes on now.
  return from < to ? { from, to } : { from: Math.min(from, world.history.now - HOUR), to: world.history.now + DAY }
}

/** The unit asked for, or the next one that makes few buckets. */
function unitOf(plan: QuestionPlan, window: { from: Instant; to: Instant }, now: Instant): Unit {
  const fitting = UNITS.slice(UNITS.indexOf(plan.unit)).find(
    unit => (window.to - window.from) / { hour: HOUR, day: DAY, week: 7 * DAY, month: 28 * DAY }[unit] <= MOST_BUCKETS,
  )
  return fitting && bucketsOf(window, fitting, plan.zone, now).length <= MOST_BUCKETS ? fitting : 'month'
}

const isAllowed = (code: string, attribute: Attribute): boolean =>
  !CHARTS[code]!.ofUsers || (attribute !== 'product_id' && attribute !== 'purchase_currency')

export function questionOf(plan: QuestionPlan, world: World): ChartQuestion {
  const { history } = world
  const window = windowOf(plan, world)
  const filters = plan.filters
    .filter(({ attribute }) => isAllowed(plan.code, attribute))
    .map(({ attribute, values }) => [attribute, [...new Set(values.map(n => named(world, attribute, n)))]])
  const isSegmented = plan.segmentation !== null && plan.code !== 'subscriptions-overview' && isAllowed(plan.code, plan.segmentation)
  return {
    code: plan.code,
    window,
    unit: unitOf(plan, window, history.now),
    ...(plan.zone && { zone: plan.zone }),
    conversion: {
      currency: plan.currency,
      ...(plan.rateDay !== null && { rateDate: dayOf(history.now - plan.rateDay * DAY) }),
    },
    filters: Object.fromEntries(filters),
    ...(isSegmented && { segmentation: plan.segmentation! }),
    maxSeries: plan.maxSeries,
    previous: plan.previous,
  }
}

/** A value that occurs, or one that nobody has. */
function named(world: World, attribute: Attribute, n: number): string {
  const values = [...new Set(valuesOf(world, attribute))].sort()
  return values[n % (values.length + 1)] ?? 'nobody has it'
}

function valuesOf({ history, charged }: World, attribute: Attribute): string[] {
  if (attribute === 'segment_id') return Object.keys(history.segments)
  if (attribute === 'experiment_group_id') return Object.keys(history.experimentGroups)
  if (attribute === 'device_id') return DEVICES
  return charged.map(one => valueOfTransaction(history, one.transaction, attribute))
}

export function queryOf(question: ChartQuestion): string {
  const query = new URLSearchParams({
    from: String(question.window.from),
    to: String(question.window.to),
    unit: question.unit,
    currency: question.conversion.currency,
  })
  if (question.zone) query.set('timezone', question.zone)
  if (question.conversion.rateDate) query.set('rate_date', question.conversion.rateDate)
  if (question.previous) query.set('previous', 'true')
  if (question.segmentation) {
    query.set('segmentation', question.segmentation)
    query.set('max_series', String(question.maxSeries))
  }
  for (const [attribute, values] of Object.entries(question.filters))
    for (const value of values) query.append(`filter[${attribute}][]`, value)
  return query.toString()
}
