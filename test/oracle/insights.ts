import { type Exact, exact, shown, sum } from './exact.ts'
import { endedRuns, type Fact, proceeds } from './facts.ts'
import { DAY, type Instant } from './history.ts'
import { mrrAt } from './mrr.ts'
import { refundedBy } from './proceeds.ts'
import { stateAt } from './state.ts'
import { type Charged, conversionOf, isCancelled, isPaid, type World } from './world.ts'

// The values of insights, from the definition alone: each is counted by looking at everything, and compared as text.

type Pair = { last: string; before: string }
export type InsightValues = Record<string, string | Pair>

const USD = { currency: 'USD' }
const WEEK = 7 * DAY
const text = (value: Exact | number, decimals = 0): string =>
  shown(typeof value === 'number' ? exact(value) : value, decimals).toFixed(decimals)

/** `days`: of the last complete UTC days, and of as many before them. */
export function insightValues(world: World, days: number): InsightValues {
  const { history } = world
  const { now } = history
  const end = Math.floor(now / DAY) * DAY
  const last = end - days * DAY
  const first = last - days * DAY
  const pair = (of: (from: Instant, to: Instant) => Exact | number, decimals = 0): Pair => ({
    last: text(of(last, end), decimals),
    before: text(of(first, last), decimals),
  })
  const happened = (which: (one: Charged) => boolean) => world.charged.filter(one => one.transaction.at <= now && which(one))
  const facts = (all: Fact[]) => (from: Instant, to: Instant) =>
    sum(all.filter(fact => fact.at >= from && fact.at < to && fact.at <= now).map(fact => fact.value))
  const during = (all: Charged[], at: (one: Charged) => Instant) => (from: Instant, to: Instant) =>
    all.filter(one => at(one) >= from && at(one) < to).length

  const paid = happened(isPaid)
  const trials = happened(({ kind }) => kind === 'trial')
  const trialEnd = ({ period }: Charged) => period!.end
  const converted = trials.filter(trial => (conversionOf(world, trial)?.transaction.at ?? Number.MAX_SAFE_INTEGER) <= now)
  const countIn = (at: Instant, states: string[]) =>
    world.subscriptions.filter(subscription => states.includes(stateAt(subscription, at)?.state ?? '')).length
  const users = history.users.filter(user => user.createdAt <= now)
  const created = (from: Instant, to: Instant) => users.filter(user => user.createdAt >= from && user.createdAt < to)
  const firstPaid = (user: string) => Math.min(...paid.filter(one => one.transaction.user === user).map(one => one.transaction.at))
  const mrr = (at: Instant) => sum(world.subscriptions.map(subscription => mrrAt(history, USD, subscription, at, () => true).m))
  const question = { conversion: USD, filters: {} }

  return {
    users: text(users.length),
    paid: pair(during(paid, one => one.transaction.at)),
    refunded: text(
      during(
        paid.filter(one => refundedBy(one.transaction, now).length > 0),
        one => one.transaction.at,
      )(last, end),
    ),
    proceeds: pair(facts(proceeds(world, question)), 2),
    mrr: { last: text(mrr(end - 1), 2), before: text(mrr(last - 1), 2) },
    trialsEnded: pair(during(trials, trialEnd)),
    trialsConverted: pair(during(converted, trialEnd)),
    trialsCancelled: text(
      during(
        trials.filter(trial => isCancelled(world, trial)),
        trialEnd,
      )(last, end),
    ),
    failing: text(countIn(end - 1, ['grace', 'retry'])),
    subscribed: text(countIn(end - 1, ['paid', 'grace', 'retry'])),
    churned: pair(facts(endedRuns(world, {}, true))),
    paidAtStart: { last: text(countIn(last - 1, ['paid'])), before: text(countIn(first - 1, ['paid'])) },
    created: pair((from, to) => created(from, to).length),
    newcomers: pair((from, to) => created(from - WEEK, to - WEEK).length),
    paidSoon: pair((from, to) => created(from - WEEK, to - WEEK).filter(({ id, createdAt }) => firstPaid(id) - createdAt <= WEEK).length),
  }
}
