import type { ChartCode } from '../chart-table.ts'
import type { Frame } from './frame.ts'
import { earliest, firstOpenTrial, firstUserInTrial, mayStillChange } from './incomplete.ts'
import { scanOf } from './scan.ts'
import type { ScanContext } from './scan-rows.ts'

const DAY = 86_400
/** As long as the insight about users who pay gives them. */
const NEW_USER = 7 * DAY
/** The longest month: with a plan of a year nothing would be known before a year has passed. */
const FIRST_PERIOD = 31 * DAY
/** A refund may come later; within these days the law of the EU lets a buyer withdraw, and most refunds are given. */
const REFUND = 14 * DAY

/** Of what began at a time or later some outcomes are not known. `age`: nothing is known of what began so many seconds ago; `first`: what is still open. */
type Outcome = { age: number; first: ((context: ScanContext, window: Frame['window']) => Promise<number | null>) | null }

const ofTrials: Outcome = { age: 0, first: (context, { from }) => firstOpenTrial(context, from) }

/** A start or conversion whose first period still runs may be cancelled before it is renewed for the first time. */
function firstOpenStart(context: ScanContext, { from }: Frame['window']): Promise<number | null> {
  const { now } = context
  const scan = scanOf('outcomes', context)
  const open = ['t.kind in (2, 3)', `t.happened > ${now - FIRST_PERIOD}`, mayStillChange('t', now), `t.happened >= ${from}`]
  return earliest(context, 't.happened', scan.from, [...scan.where, ...open, `t.happened <= ${now}`])
}

/** The charts that follow a start to its outcome. */
const OUTCOMES: Partial<Record<ChartCode, Outcome>> = {
  'refund-rate': { age: REFUND, first: null },
  'subscription-cancellation': { age: 0, first: firstOpenStart },
  'trial-cancellation': ofTrials,
  'trial-to-paid': ofTrials,
  'user-to-trial': { age: NEW_USER, first: null },
  'user-to-paid': {
    age: NEW_USER,
    // Whoever begins a trial later than this may still pay, as anybody may who has none.
    first: (context, { from, to }) => firstUserInTrial(context, from, [`u.created < ${to}`, `t.happened < u.created + ${NEW_USER}`]),
  },
}

/** The part of a window whose outcomes are known: its first buckets, `buckets` of them, until `to`. */
export type CompletePart = { to: number; buckets: number }

/** Null: the chart follows no outcomes. */
export async function completePart(context: ScanContext, code: ChartCode, { window, buckets }: Frame): Promise<CompletePart | null> {
  const outcome = OUTCOMES[code]
  if (!outcome) return null
  const first = buckets.length === 0 ? null : ((await outcome.first?.(context, window)) ?? null)
  const unknown = Math.min(first ?? window.to, context.now - outcome.age)
  if (unknown >= window.to) return { to: window.to, buckets: buckets.length }
  const known = buckets.filter((_, i) => (buckets[i + 1] ?? window.to) <= unknown).length
  return { to: buckets[known] ?? window.from, buckets: known }
}
