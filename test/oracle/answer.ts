import { type Attribute, type Filters, PURCHASE_ATTRIBUTES, valueOfTransaction, valueOfUser } from './attributes.ts'
import { CHARTS } from './charts.ts'
import { completeOf } from './complete.ts'
import { type Exact, exact, magnitude, order, over, plus, shown, sum, times, ZERO } from './exact.ts'
import type { Fact, Question } from './facts.ts'
import type { Instant } from './history.ts'
import { type Chart, type LeftOut, type Measured, totalOf } from './series.ts'
import { bucketsOf, isCut, preceding, type Unit, type Window } from './windows.ts'
import type { World } from './world.ts'

export type ChartQuestion = Question & {
  code: string
  window: Window
  unit: Unit
  zone?: string
  segmentation?: Attribute
  maxSeries: number
  previous?: boolean
}

type Point = { start_time: Instant; end_time: Instant; value: number; partial: boolean }

export type AnsweredSeries = {
  label: string
  total: number
  totalPrev: number
  data: Point[]
  dataPrev?: Point[]
  complete?: { to: Instant; total: number; totalPrev: number }
  totalWeight?: number
  totalPrevWeight?: number
}

/** What the labels of values are, by attribute and code; a code without one is its own label. */
export type Labels = Partial<Record<Attribute, Record<string, string>>>

/** The formula over a window; of a stock the state at its end. */
function valueOver(measured: Measured, window: Window, now: Instant): Exact {
  switch (measured.kind) {
    case 'flow':
      return totalOf(measured.facts, window)
    case 'stock':
      return measured.at(Math.min(window.to - 1, now))
    case 'ratio': {
      const { numerator, denominator } = measured.over(window)
      return order(denominator, ZERO) === 0 ? ZERO : over(numerator, denominator)
    }
  }
}

const HUNDRED = exact(100)
function figure(chart: Chart, value: Exact): number {
  if (chart.measure === 'count') return shown(value, 0)
  return shown(chart.measure === 'percent' ? times(value, HUNDRED) : value, 2)
}

/** Of a stock the window before is its end: the state just before `from`. */
const before = (measured: Measured, window: Window, now: Instant): Exact => valueOver(measured, preceding(window), now)

function total(measured: Measured, question: ChartQuestion, buckets: Window[], now: Instant): Exact {
  const last = buckets.at(-1)
  if (!last) return ZERO
  return valueOver(measured, measured.kind === 'stock' ? last : question.window, now)
}

/** A window's part whose outcomes are known. */
function complete(chart: Chart, measured: Measured, question: ChartQuestion, world: World): Pick<AnsweredSeries, 'complete'> {
  const { now } = world.history
  const known = completeOf(world, question, bucketsOf(question.window, question.unit, question.zone, now))
  if (!known) return {}
  const over = (window: Window) => figure(chart, valueOver(measured, window, now))
  return { complete: { to: known.part.to, total: over(known.part), totalPrev: over(known.before) } }
}

/** A bucket, earlier by the length of the window. */
const earlier = (bucket: Window, { from, to }: Window): Window => ({ from: bucket.from - (to - from), to: bucket.to - (to - from) })

function answered(chart: Chart, measured: Measured, question: ChartQuestion, world: World): AnsweredSeries {
  const { window, unit, zone } = question
  const { now } = world.history
  const buckets = bucketsOf(window, unit, zone, now)
  const point = (bucket: Window, isCut: boolean): Point => ({
    start_time: bucket.from,
    end_time: bucket.to,
    value: figure(chart, valueOver(measured, bucket, now)),
    partial: isCut || now < bucket.to,
  })
  const weights =
    measured.kind === 'ratio'
      ? {
          totalWeight: shown(measured.over(window).denominator, 0),
          totalPrevWeight: shown(measured.over(preceding(window)).denominator, 0),
        }
      : {}
  return {
    label: measured.label,
    total: figure(chart, total(measured, question, buckets, now)),
    totalPrev: figure(chart, before(measured, window, now)),
    data: buckets.map(bucket => point(bucket, isCut(bucket, window, unit, zone))),
    ...(question.previous && {
      dataPrev: buckets.map(bucket => point(earlier(bucket, window), isCut(bucket, window, unit, zone))),
    }),
    ...complete(chart, measured, question, world),
    ...weights,
  }
}

/** What the values of a segmentation show: of sales those after refunds, which add up to the same series of the whole. */
const ofValues = (code: string, series: Measured[]): Measured[] => (code === 'sales' ? series.slice(0, 1) : series)

/** All series of a chart together. */
function whole(series: Measured[], label: string): Measured {
  const first = series[0]!
  if (first.kind === 'flow') return { kind: 'flow', label, facts: series.flatMap(one => (one.kind === 'flow' ? one.facts : [])) }
  if (first.kind === 'ratio') return { ...first, label }
  const stocks = series.filter(one => one.kind === 'stock')
  return { kind: 'stock', label, at: t => sum(stocks.map(one => one.at(t))), leftOut: t => stocks.flatMap(one => one.leftOut?.(t) ?? []) }
}

function narrowed(filters: Filters, attribute: Attribute, values: string[]): Filters {
  const requested = filters[attribute]
  return { ...filters, [attribute]: requested ? values.filter(value => requested.includes(value)) : values }
}

function valuesOf(world: World, attribute: Attribute): string[] {
  const ofPurchases = world.charged.map(one => valueOfTransaction(world.history, one.transaction, attribute))
  const isOfUsers = attribute !== 'product_id' && attribute !== 'purchase_currency'
  return [
    ...new Set([...ofPurchases, ...(isOfUsers ? world.history.users.map(user => valueOfUser(world.history, user.id, attribute)) : [])]),
  ]
}

export const labelOf = (labels: Labels, attribute: Attribute, code: string): string =>
  code === 'unknown' ? 'Unknown' : (labels[attribute]?.[code] ?? code)

function segmented(world: World, chart: Chart, question: ChartQuestion, labels: Labels): Measured[] {
  const attribute = question.segmentation!
  const { now } = world.history
  const buckets = bucketsOf(question.window, question.unit, question.zone, now)
  const of = (values: string[], label: string): Measured =>
    whole(ofValues(question.code, chart.series(world, { ...question, filters: narrowed(question.filters, attribute, values) })), label)
  const each = valuesOf(world, attribute).map(code => {
    const measured = of([code], labelOf(labels, attribute, code))
    return { code, measured, size: magnitude(total(measured, question, buckets, now)) }
  })
  const sorted = each
    .filter(({ measured }) => !isBlank(measured, question, now))
    .sort((a, b) => order(b.size, a.size) || (a.measured.label < b.measured.label ? -1 : 1))
  const shownSeries = sorted.slice(0, question.maxSeries).map(one => one.measured)
  const rest = sorted.slice(question.maxSeries).map(one => one.code)
  return question.maxSeries === 0 || rest.length === 0 ? shownSeries : [...shownSeries, of(rest, 'Other')]
}

/** Nothing of this series lies in the window or in the one before. */
function isBlank(measured: Measured, question: ChartQuestion, now: Instant): boolean {
  const { window, unit, zone } = question
  const both = [preceding(window), window]
  const isOfPurchases = PURCHASE_ATTRIBUTES.includes(question.segmentation!)
  if (measured.kind === 'ratio') {
    // Money that cannot be converted is there, in no number but in `unconverted`.
    if (both.some(({ from, to }) => measured.leftOut?.some(fact => fact.at >= from && fact.at < to))) return false
    if (question.code === 'arpu' && isOfPurchases) return true
    return both.every(one => order(measured.over(one).denominator, ZERO) === 0 && order(measured.over(one).numerator, ZERO) === 0)
  }
  if (MOVES_OF_MRR.includes(question.code) && measured.kind === 'flow') {
    const buckets = bucketsOf(window, unit, zone, now)
    const before = question.previous ? bucketsOf(window, unit, zone, window.to).map(bucket => earlier(bucket, window)) : [both[0]!]
    return [...before, ...buckets].every(interval => cancelsOut(measured.facts, interval))
  }
  if (measured.kind === 'flow') return both.every(({ from, to }) => measured.facts.every(fact => fact.at < from || fact.at >= to))
  // Of the window before, the states within it are shown with `previous` alone.
  const buckets = bucketsOf(window, unit, zone, now)
  const instants = (question.previous ? [...buckets, ...buckets.map(bucket => earlier(bucket, window))] : buckets).map(bucket =>
    Math.min(bucket.to - 1, now),
  )
  return [...instants, Math.min(window.from - 1, now)].every(
    t => order(measured.at(t), ZERO) === 0 && (measured.leftOut?.(t) ?? []).length === 0,
  )
}

/** What comes and goes within an interval is nothing, in money and in what could not be converted. */
function cancelsOut(facts: Fact[], { from, to }: Window): boolean {
  const inside = facts.filter(fact => fact.at >= from && fact.at < to)
  const leftOut = inside.flatMap(fact => fact.leftOut ?? []).reduce((net, { isBefore }) => net + (isBefore ? -1 : 1), 0)
  return leftOut === 0 && order(sum(inside.map(fact => fact.value)), ZERO) === 0
}

const MOVES_OF_MRR = ['mrr-movement', 'arr-movement']
const MOVEMENTS = [...MOVES_OF_MRR, 'paid-subscriptions-movement', 'trials-movement']

function summaryLabel(code: string, chart: Chart, question: ChartQuestion, series: Measured[]): string | undefined {
  if (question.segmentation) return 'Total'
  if (MOVEMENTS.includes(code)) return 'Net'
  return chart.relation === 'partsOfWhole' && series.length > 1 ? 'Total' : undefined
}

/** The facts of the window that could not be converted. */
function leftOut(measured: Measured[], question: ChartQuestion, world: World): LeftOut[] {
  const { window } = question
  const facts = measured.flatMap((one): Fact[] => (one.kind === 'flow' ? one.facts : one.kind === 'ratio' ? (one.leftOut ?? []) : []))
  const last = bucketsOf(window, question.unit, question.zone, world.history.now).at(-1)
  const stock = measured.flatMap(one =>
    one.kind === 'stock' && last ? (one.leftOut?.(Math.min(last.to - 1, world.history.now)) ?? []) : [],
  )
  return [...facts.filter(fact => fact.at >= window.from && fact.at < window.to).flatMap(fact => fact.leftOut ?? []), ...stock]
}

export function chartAnswer(world: World, question: ChartQuestion, labels: Labels = {}) {
  const chart = CHARTS[question.code]!
  const plain = chart.series(world, question)
  const series = question.segmentation ? segmented(world, chart, question, labels) : plain
  const kind = plain[0]!.kind
  const label = summaryLabel(question.code, chart, question, plain)
  const missing = Map.groupBy(leftOut(plain, question, world), one => one.transaction.currency ?? 'unknown')
  return {
    measure: chart.measure,
    totalType: { flow: 'sum', stock: 'last', ratio: 'average' }[kind],
    seriesRelation: question.segmentation ? (kind === 'ratio' ? 'independent' : 'partsOfWhole') : chart.relation,
    series: series.map(one => answered(chart, one, question, world)),
    ...(label && {
      summarySeries: answered(chart, whole(question.segmentation ? ofValues(question.code, plain) : plain, label), question, world),
    }),
    ...(chart.measure === 'usd' &&
      missing.size > 0 && {
        unconverted: [...missing]
          .map(([currency, facts]) => ({
            currency,
            transactions: new Set(facts.map(fact => fact.transaction)).size,
            amount: shown(facts.map(fact => magnitude(fact.amount)).reduce(plus, ZERO), 2),
          }))
          .sort((a, b) => (a.currency < b.currency ? -1 : 1)),
      }),
  }
}
