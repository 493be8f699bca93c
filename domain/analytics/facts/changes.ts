import { inSteps } from '../../kernel/in-steps.ts'
import { accessEnd, type Link, runEnd, runsOf } from '../../purchases/subscriptions/access-periods.ts'
import type { KnownPeriod, Subscription } from '../../purchases/subscriptions/lineages.ts'
import { LAST_MS, renewsAt } from '../../purchases/subscriptions/period.ts'
import type { TimelineState } from '../../purchases/subscriptions/timeline.ts'
import { lengthsOf } from './lengths.ts'
import type { Attribution, ChangeCause, ChangeState, SubscriptionChange } from './rows.ts'
import { changedAt, dayOf, millionths, type Source, seconds } from './sources.ts'
import { cancelledAt, subscriptionKey } from './transactions.ts'

const NO_STATE: ChangeState = {
  state: 'none',
  renewing: false,
  amount: null,
  usd_given: null,
  is_intro: false,
  length: null,
  bought_on: null,
  platform: null,
  product: null,
  currency: null,
  country: null,
  app_version: null,
  locale: null,
}

/** The price at which the period recurs: the whole price of its plan, where the period is prorated. */
const priceOf = ({ purchase }: KnownPeriod, { amount }: Source): bigint => (purchase?.plan ? millionths(purchase.plan.price) : amount)

/** Each time at which auto-renew was switched off in a paid period of the run, also where it was switched on again; and when billing was given up. */
function cancellationsOf(run: Link<KnownPeriod>[]): number[] {
  const switched = run.flatMap(({ period: { paid, begins, autoRenewChanges } }) =>
    paid ? autoRenewChanges.filter((_, i) => i % 2 === 0).map(at => Math.max(at, begins)) : [],
  )
  const last = cancelledAt(run)
  return last === null ? switched : [...switched, last]
}

/**
 * Finds the last entry that is not after `t`, in a list in order of time. Each `t` must not be before the `t` of the call before: so all
 * calls together read the list once, however long it is.
 */
function lastOf<T>(entries: T[], at: (entry: T) => number): (t: number) => T | undefined {
  let next = 0
  return t => {
    while (next < entries.length && at(entries[next]!) <= t) next++
    return entries[next - 1]
  }
}

/** How many times of the list lie in each second. */
function countBySecond(times: number[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const at of times) counts.set(seconds(at), (counts.get(seconds(at)) ?? 0) + 1)
  return counts
}

/** The times of a run with at most one a second. */
const oncePerSecond = (times: number[]): number[] => [...new Map(times.map(at => [seconds(at), at])).values()]

/**
 * Every change of a subscription with the state before and the state after it, one per second. An end that no statement brings, but time
 * alone, is dated at the period's end; it counts from `counts_from` on, because until then a renewal may be reported. The end of a paid run
 * is dated at the end of its access; where billing retry follows, it is a row of its own without a change of state, which counts once the
 * retry has ended.
 */
export async function changesOf(
  subscription: Subscription,
  attribution: Attribution,
  sourceOf: (period: KnownPeriod) => Source,
): Promise<SubscriptionChange[]> {
  const { links } = subscription
  const key = subscriptionKey(subscription)
  const lengthOf = lengthsOf(links.map(({ period }) => period))
  const states = subscription.timeline.map(({ at, state, endedAt }) => ({ at: endedAt ?? at, state, countsFrom: endedAt ? at : null }))
  const runs = runsOf(links).map(run => ({
    isPaid: run.some(({ period }) => period.paid),
    end: runEnd(run),
    accessEnd: accessEnd(run),
    cancelled: cancellationsOf(run),
  }))
  const paidRuns = runs.filter(({ isPaid }) => isPaid)
  const isRetried = ({ end, accessEnd: over }: (typeof runs)[number]) => seconds(over) < seconds(end)
  const paidEnds = countBySecond(paidRuns.filter(run => !isRetried(run)).map(({ end }) => end))
  const retried = Map.groupBy(paidRuns.filter(isRetried), run => seconds(run.accessEnd))
  const trialEnds = countBySecond(runs.filter(({ isPaid }) => !isPaid).map(({ end }) => end))
  const cancellations = countBySecond(paidRuns.flatMap(({ cancelled }) => oncePerSecond(cancelled)))
  const beginnings = new Set(links.map(({ period }) => seconds(period.begins)))
  // Of several in one second the first one counts: the last entry of a map wins.
  const delayed = new Map(
    states.flatMap(({ at, countsFrom }) => (countsFrom === null ? [] : [[seconds(at), countsFrom] as const])).reverse(),
  )
  const lastLink = lastOf(links, ({ period }) => period.begins)
  const lastState = lastOf(states, ({ at }) => at)

  function stateAt(t: number, period: KnownPeriod | undefined, state: TimelineState | undefined): ChangeState {
    if (!period || !state) return NO_STATE
    const renewing = renewsAt(period, t)
    const source = sourceOf(period)
    const counts = (state === 'paid' || state === 'grace') && renewing && period.paid
    const { platform, product, currency, country, app_version, locale } = source
    return {
      state,
      renewing,
      platform,
      product,
      currency,
      country,
      app_version,
      locale,
      amount: counts ? priceOf(period, source) : null,
      usd_given: counts ? source.usdGiven : null,
      is_intro: period.purchase?.period_type === 'intro',
      length: lengthOf(period),
      bought_on: dayOf(period.begins),
    }
  }

  const times = [
    ...states.map(({ at }) => at),
    ...links.map(({ period }) => period.begins),
    ...links.flatMap(({ period }) => period.autoRenewChanges.map(at => Math.max(at, period.begins))),
    ...runs.flatMap(run => [run.accessEnd, run.end]),
    ...paidRuns.flatMap(({ cancelled }) => cancelled),
  ].filter(at => at <= LAST_MS)
  const bySecond = Map.groupBy(
    times.sort((a, b) => a - b),
    seconds,
  )
  let before = NO_STATE
  const changes: SubscriptionChange[] = []
  const step = inSteps()
  for (const [happened, instants] of bySecond) {
    const t = instants.at(-1)!
    const { period } = lastLink(t)!
    const after = stateAt(t, period, lastState(t)?.state)
    const countsFrom = delayed.get(happened) ?? null
    const change: SubscriptionChange = {
      media: attribution.media,
      campaign: attribution.campaign,
      subscription: key,
      happened,
      counts_from: countsFrom === null ? null : seconds(countsFrom),
      cause: causeOf(before, after, beginnings.has(happened)),
      before,
      after,
      paid_ended: paidEnds.get(happened) ?? 0,
      trials_ended: trialEnds.get(happened) ?? 0,
      cancelled: cancellations.get(happened) ?? 0,
      recorded: seconds(changedAt(period)),
    }
    changes.push(change)
    const unchanged = { cause: 'end', before: after, trials_ended: 0, cancelled: 0, paid_ended: 1 } as const
    for (const { end } of retried.get(happened) ?? []) changes.push({ ...change, ...unchanged, counts_from: seconds(end) })
    before = after
    const pause = step(1)
    if (pause) await pause
  }
  return changes
}

function causeOf(before: ChangeState, after: ChangeState, begins: boolean): ChangeCause {
  if (begins) return before.state === 'none' || before.state === 'ended' ? 'begin' : 'handover'
  if (after.state === before.state) return 'auto_renew'
  if (after.state === 'grace' || after.state === 'retry') return after.state
  return after.state === 'ended' ? 'end' : 'handover'
}
