import { activeUserPasses, userPasses } from './attributes.ts'
import { type Exact, exact, sum } from './exact.ts'
import { amounts, chosen, type Fact, type Question, refunds, taking } from './facts.ts'
import type { Instant } from './history.ts'
import type { Transaction } from './transactions.ts'
import type { Window } from './windows.ts'
import { type Charged, isPaid, transactionsBy, type World } from './world.ts'

export type Share = { numerator: Exact; denominator: Exact }
export type LeftOut = { transaction: Transaction; amount: Exact }

/** One series of a chart, as functions of time. */
export type Measured =
  | { kind: 'flow'; label: string; facts: Fact[] }
  | { kind: 'stock'; label: string; at: (t: Instant) => Exact; leftOut?: (t: Instant) => LeftOut[] }
  | { kind: 'ratio'; label: string; over: (window: Window) => Share; leftOut?: Fact[] }

export type Chart = {
  measure: 'usd' | 'count' | 'percent'
  relation: 'partsOfWhole' | 'independent'
  /** Users alone are counted: no attributes of purchases but the store. */
  ofUsers?: true
  series: (world: World, question: Question) => Measured[]
}

const within = (at: Instant, { from, to }: Window): boolean => from <= at && at < to
export const totalOf = (facts: Fact[], window: Window): Exact => sum(facts.filter(fact => within(fact.at, window)).map(fact => fact.value))

export const flow = (label: string, facts: Fact[]): Measured => ({ kind: 'flow', label, facts })

/** `which` of all, both placed by their own time. */
function shareOf(label: string, all: { at: Instant; isMet: boolean }[]): Measured {
  const number = (some: unknown[]): Exact => exact(some.length)
  return {
    kind: 'ratio',
    label,
    over: window => {
      const inside = all.filter(one => within(one.at, window))
      return { numerator: number(inside.filter(one => one.isMet)), denominator: number(inside) }
    },
  }
}

export function transactionShare(
  label: string,
  which: (one: Charged) => boolean,
  isMet: (world: World, one: Charged) => boolean,
): Chart['series'] {
  return (world, { filters }) => [
    shareOf(
      label,
      chosen(world, filters, which).map(one => ({ at: one.transaction.at, isMet: isMet(world, one) })),
    ),
  ]
}

export function userShare(label: string, isMet: (one: Charged) => boolean): Chart['series'] {
  return (world, { filters }) => {
    const passes = userPasses(world.history, filters)
    const users = world.history.users.filter(user => passes(user.id) && user.createdAt <= world.history.now)
    const met = (user: string) => transactionsBy(world, user).some(one => isMet(one) && one.transaction.at <= world.history.now)
    return [
      shareOf(
        label,
        users.map(user => ({ at: user.createdAt, isMet: met(user.id) })),
      ),
    ]
  }
}

export function perUser(label: string, users: (world: World, question: Question, window: Window) => Set<string>): Chart['series'] {
  return (world, question) => {
    const money = [...amounts(world, question), ...refunds(world, question).map(taking)]
    return [
      {
        kind: 'ratio',
        label,
        over: window => ({ numerator: totalOf(money, window), denominator: exact(users(world, question, window).size) }),
        leftOut: money,
      },
    ]
  }
}

export function payingUsers(world: World, { filters }: Question, window: Window): Set<string> {
  const paid = chosen(world, filters, isPaid).filter(one => within(one.transaction.at, window))
  return new Set(paid.map(one => one.transaction.user))
}

export function activeUsers(world: World, { filters }: Question, window: Window): Set<string> {
  const passes = activeUserPasses(world.history, filters)
  const { now } = world.history
  const active = [
    ...world.history.users.map(user => ({ user: user.id, at: user.createdAt })),
    ...world.history.occurrences.map(occurrence => ({ user: occurrence.user, at: occurrence.happenedAt })),
    ...world.charged.map(({ transaction }) => ({ user: transaction.user, at: transaction.at })),
  ]
  return new Set(active.filter(({ user, at }) => at <= now && within(at, window) && passes(user)).map(({ user }) => user))
}
