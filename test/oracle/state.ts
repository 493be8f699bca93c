import type { Instant } from './history.ts'
import { type Period, runWith, type Subscription } from './subscriptions.ts'

export type State = 'trial' | 'paid' | 'grace' | 'retry' | 'ended'

/** What a subscription is at the second `t`, a second that is not after now. */
export type StateAtTime = { state: State; isRenewing: boolean; period: Period }

/** Null before the first period. */
export function stateAt(subscription: Subscription, t: Instant): StateAtTime | null {
  const begun = subscription.periods.filter(period => period.begin <= t)
  const period = begun.at(-1)
  if (!period) return null
  const { offAt, autoRenewChanges, graceUntil } = period.transaction
  const isOff = autoRenewChanges.length > 0 ? autoRenewChanges.filter(at => at <= t).length % 2 === 1 : offAt !== null && t >= offAt
  const inState = (state: State): StateAtTime => ({ state, isRenewing: !isOff, period })
  const own: State = period.isPaid ? 'paid' : 'trial'
  if (t < period.end) return inState(own)
  if (period.retry && period.retry.from <= t && t < period.retry.until)
    return inState(graceUntil !== null && t < graceUntil ? 'grace' : 'retry')
  const next = subscription.periods[begun.length]
  if (next?.isJoined) return inState(own)
  const run = runWith(subscription, period)
  // The last period of a run that only time would end: the renewal may still be reported.
  return inState(run.isOver || next || t < run.end ? 'ended' : own)
}
