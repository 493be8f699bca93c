import { PER_UNIT_OF_PROCEEDS } from '../charts/money.ts'
import { type Quotient, roundedFigure } from '../charts/rounding.ts'
import type { Measured, Pair } from './measured.ts'

const INSIGHT_TYPES = ['critical', 'tip', 'positive', 'info'] as const
export type InsightType = (typeof INSIGHT_TYPES)[number]
/** `metric`: the code of a chart. */
export type Insight = { type: InsightType; metric: string; title: string; body: string; action: string }

export type InsightResult = {
  health: 'healthy' | 'watch' | 'critical' | null
  health_score: number
  is_insufficient_data: boolean
  summary: string
  insights: Insight[]
}

/** Percent from which on a value gives an insight; of a value that should be small, `rises` is true. */
type Limits = { critical?: number; tip?: number; positive?: number; rises?: boolean }
/** null: the minimum is not met, or there is nothing to compare with. `value` is compared with the limits. */
type Finding = { value: Quotient; body: string } | null

type Rule = {
  metric: string
  limits: Limits
  bad: string
  good?: string
  action: string
  find: (measured: Measured, days: number) => Finding
}

const money = (amount: bigint, perUnit: bigint): string => `${roundedFigure({ top: amount, bottom: perUnit }, 2).toFixed(2)} USD`
const percent = ({ top, bottom }: Quotient): string => `${roundedFigure({ top: 100n * top, bottom }, 1).toFixed(1)} %`
const change = (value: Quotient): string => (value.top < 0n ? percent(value) : `+${percent(value)}`)

/** (last − before) ÷ before; null when there was nothing before. */
const changeOf = (last: Quotient, before: Quotient): Quotient | null =>
  before.top === 0n || before.bottom === 0n || last.bottom === 0n
    ? null
    : { top: last.top * before.bottom - before.top * last.bottom, bottom: before.top * last.bottom }

/** A value that is compared with that of the period before. */
function compared(last: Quotient, before: Quotient, days: number, shown: (value: Quotient) => string): Finding {
  const value = changeOf(last, before)
  return (
    value && { value, body: `${shown(last)} in the last ${days} days, ${shown(before)} in the ${days} days before (${change(value)}).` }
  )
}

const whole = (value: bigint): Quotient => ({ top: value, bottom: 1n })
const shares = (parts: Pair, all: Pair): [last: Quotient, before: Quotient] => [
  { top: parts.last, bottom: all.last },
  { top: parts.before, bottom: all.before },
]
const bothAtLeast = (least: bigint, { last, before }: Pair): boolean => last >= least && before >= least

/** In the order of their numbers. */
const RULES: Rule[] = [
  {
    metric: 'proceeds',
    limits: { critical: -30, tip: -10, positive: 10 },
    bad: 'Proceeds fell',
    good: 'Proceeds grew',
    action: 'Compare stores and products in the proceeds chart.',
    find: ({ proceeds: { last, before } }, days) =>
      before < 100n * PER_UNIT_OF_PROCEEDS
        ? null
        : compared(whole(last), whole(before), days, ({ top }) => money(top, PER_UNIT_OF_PROCEEDS)),
  },
  {
    metric: 'mrr',
    limits: { critical: -10, tip: -3, positive: 5 },
    bad: 'MRR shrank',
    good: 'MRR grew',
    action: 'Look at churn and contraction in the MRR movement.',
    find({ mrr: { end, start, perUnit } }, days) {
      const value = start < 100n * perUnit ? null : changeOf(whole(end), whole(start))
      const shown = (amount: bigint) => money(amount, perUnit)
      return value && { value, body: `${shown(end)} now, ${shown(start)} ${days} days earlier (${change(value)}).` }
    },
  },
  {
    metric: 'refund-rate',
    limits: { critical: 10, tip: 5, rises: true },
    bad: 'Many refunds',
    action: 'Check which products are refunded, and what they promise.',
    find({ paid, refunded }, days) {
      const value = { top: refunded, bottom: paid.last }
      return paid.last < 50n ? null : { value, body: `${percent(value)} in the last ${days} days.` }
    },
  },
  {
    metric: 'trial-to-paid',
    limits: { critical: -25, tip: -10, positive: 10 },
    bad: 'Fewer trials convert',
    good: 'More trials convert',
    action: 'Compare trial length and onboarding between the two periods.',
    find: ({ trialsEnded, trialsConverted }, days) =>
      bothAtLeast(30n, trialsEnded) ? compared(...shares(trialsConverted, trialsEnded), days, percent) : null,
  },
  {
    metric: 'trial-cancellation',
    limits: { tip: 70, rises: true },
    bad: 'Most trials are cancelled',
    action: 'Remind users of the value before the trial ends.',
    find({ trialsEnded, trialsCancelled }, days) {
      const value = { top: trialsCancelled, bottom: trialsEnded.last }
      return trialsEnded.last < 30n ? null : { value, body: `${percent(value)} in the last ${days} days.` }
    },
  },
  {
    metric: 'active-subscriptions',
    limits: { critical: 10, tip: 5, rises: true },
    bad: 'Many failed charges',
    action: "Enable the store's grace period and ask for a new payment method.",
    find({ failing, subscribed }) {
      const value = { top: failing, bottom: subscribed }
      return subscribed < 50n ? null : { value, body: `${percent(value)} now.` }
    },
  },
  {
    metric: 'paid-subscriptions-movement',
    limits: { critical: 25, tip: 10, positive: -10, rises: true },
    bad: 'Churn rose',
    good: 'Churn fell',
    action: 'Ask leaving subscribers why; try a win-back offer.',
    find: ({ churned, paidAtStart }, days) =>
      bothAtLeast(50n, paidAtStart) ? compared(...shares(churned, paidAtStart), days, percent) : null,
  },
  {
    metric: 'users-overview',
    limits: { critical: -50, tip: -20, positive: 20 },
    bad: 'Fewer new users',
    good: 'More new users',
    action: 'Check the media sources.',
    find: ({ created: { last, before } }, days) =>
      before < 100n ? null : compared(whole(last), whole(before), days, ({ top }) => String(top)),
  },
  {
    metric: 'user-to-paid',
    limits: { tip: -20, positive: 20 },
    bad: 'Fewer users pay',
    good: 'More users pay',
    action: 'Test another paywall or price.',
    find: ({ newcomers, paidSoon }, days) =>
      bothAtLeast(100n, newcomers) ? compared(...shares(paidSoon, newcomers), days, percent) : null,
  },
  {
    metric: 'sales',
    limits: { critical: 0 },
    bad: 'No purchases received',
    action: 'Check the store notifications and server credentials.',
    find({ received: { lastDay, before } }) {
      const average = roundedFigure({ top: before, bottom: 28n }, 0)
      return before < 280n ? null : { value: whole(lastDay), body: `No purchase for 24 hours, about ${average} a day before.` }
    },
  },
]

/** Whether a value has reached a limit, on the side where the limit counts. */
function isReached({ top, bottom }: Quotient, limit: number | undefined, isAbove: boolean): boolean {
  if (limit === undefined) return false
  const [value, edge] = [100n * top, BigInt(limit) * bottom]
  return isAbove ? value >= edge : value <= edge
}

function typeOf(value: Quotient, { critical, tip, positive, rises = false }: Limits): Exclude<InsightType, 'info'> | null {
  if (isReached(value, critical, rises)) return 'critical'
  if (isReached(value, tip, rises)) return 'tip'
  return isReached(value, positive, !rises) ? 'positive' : null
}

const nothingUnusual = (days: number): Insight => ({
  type: 'info',
  metric: 'proceeds',
  title: 'Nothing unusual',
  body: `All ${days}-day values are within their usual range.`,
  action: '',
})

const LEAST_USERS = 30n
const LEAST_PAID = 10n

/** The insights from the values of the last `days` days. */
export function insightsOf(measured: Measured, days: number): InsightResult {
  const { users, paid } = measured
  if (users < LEAST_USERS || paid.last + paid.before < LEAST_PAID)
    return { health: null, health_score: 0, is_insufficient_data: true, summary: 'Not enough data yet.', insights: [] }
  const found = RULES.flatMap(({ metric, limits, bad, good, action, find }): Insight[] => {
    const finding = find(measured, days)
    const type = finding && typeOf(finding.value, limits)
    return finding && type ? [{ type, metric, title: type === 'positive' ? good! : bad, body: finding.body, action }] : []
  })
  const count = (type: InsightType) => found.filter(insight => insight.type === type).length
  const [critical, tips, positive] = [count('critical'), count('tip'), count('positive')]
  const score = Math.min(10, Math.max(0, 8 - 3 * critical - tips + positive))
  return {
    health: score >= 7 ? 'healthy' : score >= 4 ? 'watch' : 'critical',
    health_score: score,
    is_insufficient_data: false,
    summary: `${critical} critical, ${tips} to improve, ${positive} positive in the last ${days} days.`,
    insights: found.length === 0 ? [nothingUnusual(days)] : INSIGHT_TYPES.flatMap(type => found.filter(insight => insight.type === type)),
  }
}
