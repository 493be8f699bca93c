import type { ChartCode } from '../chart-table.ts'
import type { Frame } from './frame.ts'
import { mayStillChange, openTrialsAround, type TimesAround, timesAround, usersInTrialAround } from './incomplete.ts'
import { scanOf } from './scan.ts'
import type { ScanContext } from './scan-rows.ts'

const DAY = 86_400
/** As many days as the insight about users who pay gives them to pay. */
const NEW_USER = 7 * DAY
/** The longest month: if plans of a year counted, nothing would be known before a year has passed. */
const FIRST_PERIOD = 31 * DAY
/** A refund may come later; within these days the law of the EU lets a buyer withdraw, and most refunds are given. */
const REFUND = 14 * DAY

/**
 * A rule for starts whose outcomes are not all known. `age`: nothing is known of starts within the last so many seconds; `open`: the
 * starts, around the start of the window, that are still open.
 */
type Outcome = { age: number; open: ((context: ScanContext, window: Frame['window']) => Promise<TimesAround>) | null }

/** The comparison with the window contains no earlier start. */
const around = ({ from, to }: Frame['window']) => ({ since: from - (to - from), at: from })

const ofTrials: Outcome = { age: 0, open: (context, window) => openTrialsAround(context, around(window)) }

/** A start or conversion whose first period still runs may be cancelled before it is renewed for the first time. */
function openStarts(context: ScanContext, window: Frame['window']): Promise<TimesAround> {
  const { now } = context
  const { since, at } = around(window)
  const { from, where } = scanOf('outcomes', context)
  const open = ['t.kind in (2, 3)', `t.happened > ${now - FIRST_PERIOD}`, mayStillChange('t', now), `t.happened >= ${since}`]
  return timesAround(context, { column: 't.happened', from, where: [...where, ...open, `t.happened <= ${now}`], at })
}

/** The charts that follow a start to its outcome. */
const OUTCOMES: Partial<Record<ChartCode, Outcome>> = {
  'refund-rate': { age: REFUND, open: null },
  'subscription-cancellation': { age: 0, open: openStarts },
  'trial-cancellation': ofTrials,
  'trial-to-paid': ofTrials,
  'user-to-trial': { age: NEW_USER, open: null },
  'user-to-paid': {
    age: NEW_USER,
    // A user who begins a trial later than this may still pay, and so may a user without a trial.
    open: (context, window) =>
      usersInTrialAround(context, around(window), [`u.created < ${window.to}`, `t.happened < u.created + ${NEW_USER}`]),
  },
}

/** The part of a window whose outcomes are known: its first buckets, `buckets` of them, until `to`. */
export type CompletePart = { to: number; buckets: number }

/**
 * Null: the chart follows no outcomes. What was open before the window ends the part, too: the time of the same length before the window, with which
 * it is compared, begins after that.
 */
export async function completePart(context: ScanContext, code: ChartCode, { window, buckets }: Frame): Promise<CompletePart | null> {
  const outcome = OUTCOMES[code]
  if (!outcome) return null
  const { from, to } = window
  const open = (buckets.length === 0 ? null : await outcome.open?.(context, window)) ?? { first: null, lastBefore: null }
  const unknown = Math.min(open.first ?? to, context.now - outcome.age)
  const isKnown = (end: number) => end <= unknown && (open.lastBefore === null || end - from < from - open.lastBefore)
  if (isKnown(to)) return { to, buckets: buckets.length }
  const known = buckets.filter((_, i) => isKnown(buckets[i + 1]?.from ?? to)).length
  return { to: buckets[known]?.from ?? from, buckets: known }
}
