import type { Filters } from './attributes.ts'
import { transactionPasses } from './attributes.ts'
import { type Exact, minus, negated, ONE, times, ZERO } from './exact.ts'
import type { Instant } from './history.ts'
import { mrrAt } from './mrr.ts'
import { proceedsOf, refundedBy, refundedUsd } from './proceeds.ts'
import { type Conversion, converted } from './rates.ts'
import { stateAt } from './state.ts'
import type { Subscription } from './subscriptions.ts'
import type { Transaction } from './transactions.ts'
import { type Charged, isPaid, type World } from './world.ts'

/** Something that lies in the bucket of `at`. */
export type Fact = { at: Instant; value: Exact; leftOut?: { transaction: Transaction; amount: Exact; isBefore?: boolean } }

export type Question = { conversion: Conversion; filters: Filters }

const known = (world: World, facts: Fact[]): Fact[] => facts.filter(fact => fact.at <= world.history.now)

export function chosen(world: World, filters: Filters, which: (one: Charged) => boolean): Charged[] {
  const passes = transactionPasses(world.history, filters)
  return world.charged.filter(one => which(one) && passes(one.transaction) && one.transaction.at <= world.history.now)
}

export const counted = (world: World, filters: Filters, which: (one: Charged) => boolean): Fact[] =>
  chosen(world, filters, which).map(({ transaction }) => ({ at: transaction.at, value: ONE }))

type Money = { amount: Exact; usd: Exact | null }

function moneyFact(world: World, conversion: Conversion, transaction: Transaction, at: Instant, money: Money): Fact {
  const value = converted(world.history, conversion, { ...money, currency: transaction.currency, at: transaction.at })
  return value === null ? { at, value: ZERO, leftOut: { transaction, amount: money.amount } } : { at, value }
}

/** Amounts of paid transactions. */
export const amounts = (world: World, { conversion, filters }: Question, which = isPaid): Fact[] =>
  chosen(world, filters, which).map(({ transaction }) => moneyFact(world, conversion, transaction, transaction.at, transaction))

/** Refunded amounts, at the rates of the purchase. */
export const refunds = (world: World, { conversion, filters }: Question, which = isPaid): Fact[] =>
  chosen(world, filters, which).flatMap(({ transaction }) =>
    refundedBy(transaction, world.history.now).map(refund =>
      moneyFact(world, conversion, transaction, refund.at, { amount: refund.amount, usd: refundedUsd(transaction, refund) }),
    ),
  )

export function proceeds(world: World, { conversion, filters }: Question): Fact[] {
  return chosen(world, filters, isPaid).flatMap(({ transaction, subscription }) => {
    const { gained, lost } = proceedsOf(world.history, transaction, subscription ?? undefined)
    const taken = refundedBy(transaction, world.history.now).map(refund =>
      taking(moneyFact(world, conversion, transaction, refund.at, lost(refund))),
    )
    return [moneyFact(world, conversion, transaction, transaction.at, gained), ...taken]
  })
}

export const taking = (fact: Fact): Fact => ({ ...fact, value: negated(fact.value) })

/** The instants at which a subscription can change. */
export function instantsOf(subscription: Subscription): Instant[] {
  const all = subscription.periods.flatMap(({ begin, end, retry, transaction }) => [
    begin,
    end,
    transaction.offAt,
    ...transaction.autoRenewChanges,
    transaction.graceUntil,
    retry?.from,
    retry?.until,
  ])
  const runs = subscription.runs.map(run => run.end)
  return [...new Set([...all, ...runs].filter(at => at !== null && at !== undefined))].sort((a, b) => a - b)
}

/** `leftOut`: what could not be converted of the sides before and after. */
export type Step = { at: Instant; before: Exact; after: Exact; leftOut: Record<'before' | 'after', Transaction | null> }

/** Whether state, auto-renew or period are others than in the second before. */
function changesAt(subscription: Subscription, at: Instant): boolean {
  const [before, after] = [stateAt(subscription, at - 1), stateAt(subscription, at)]
  return before?.state !== after?.state || before?.isRenewing !== after?.isRenewing || before?.period !== after?.period
}

/** The changes of the monthly amount of all subscriptions, one per subscription and instant. */
export function mrrSteps(world: World, { conversion, filters }: Question): Step[] {
  const passes = transactionPasses(world.history, filters)
  return world.subscriptions.flatMap(subscription => {
    const m = (t: Instant) => mrrAt(world.history, conversion, subscription, t, period => passes(period.transaction))
    return instantsOf(subscription)
      .filter(at => at <= world.history.now && changesAt(subscription, at))
      .map(at => {
        const [before, after] = [m(at - 1), m(at)]
        return { at, before: before.m, after: after.m, leftOut: { before: before.unconverted, after: after.unconverted } }
      })
  })
}

export const moved = (steps: Step[], which: (before: Exact, after: Exact) => boolean): Fact[] =>
  steps.filter(step => which(step.before, step.after)).map(step => ({ at: step.at, value: minus(step.after, step.before) }))

export const scaled = (facts: Fact[], by: Exact): Fact[] => facts.map(fact => ({ ...fact, value: times(fact.value, by) }))

/** Facts of runs have the attributes of the latest period begun at that instant. */
function runFacts(world: World, filters: Filters, at: (run: Subscription['runs'][number]) => Instant[]): Fact[] {
  const passes = transactionPasses(world.history, filters)
  const facts = world.subscriptions.flatMap(subscription =>
    subscription.runs.flatMap(at).flatMap(instant => {
      const present = stateAt(subscription, instant)
      return present && passes(present.period.transaction) ? [{ at: instant, value: ONE }] : []
    }),
  )
  return known(world, facts)
}

export const endedRuns = (world: World, filters: Filters, hasPaid: boolean): Fact[] =>
  runFacts(world, filters, run => (run.isOver && run.hasPaid === hasPaid ? [hasPaid ? run.accessEnd : run.end] : []))

export const cancelledRuns = (world: World, filters: Filters): Fact[] =>
  runFacts(world, filters, run => (run.hasPaid ? run.cancellations : []))
