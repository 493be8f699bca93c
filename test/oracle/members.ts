import { type Attribute, classOf, type Filters, membersPass } from './attributes.ts'
import { type Exact, exact, minus, order, over, shown, sum, ZERO } from './exact.ts'
import { DAY, type Instant } from './history.ts'
import { proceedsOf, refundedBy } from './proceeds.ts'
import { type Conversion, converted } from './rates.ts'
import type { Run } from './subscriptions.ts'
import { type Charged, isPaid, transactionsBy, type World } from './world.ts'

export type Mode = 'by_renewals' | 'by_days'
export type Definition = 'new_customers' | 'initial_conversions' | 'new_paying'
export type Revenue = 'gross' | 'net'

/** A user with the instant from which the user's days are counted. */
export type Member = { user: string; anchor: Instant }
/** A payment with the period of its payer: for days the day, for renewals the number of the paid period, from 1. */
export type Payment = { charged: Charged; period: number; user: string }

export function anchorOf(world: World, user: string, definition: Definition): Instant | null {
  if (definition === 'new_customers') return world.history.users.find(one => one.id === user)!.createdAt
  const anchors = transactionsBy(world, user).filter(one => definition === 'initial_conversions' || isPaid(one))
  return anchors[0]?.transaction.at ?? null
}

export const membersOf = (world: World, definition: Definition, filters: Filters): Member[] => {
  const passes = membersPass(
    world.history,
    filters,
    world.charged.map(one => one.transaction),
  )
  return world.history.users.flatMap(({ id }) => {
    const anchor = passes(id) ? anchorOf(world, id, definition) : null
    return anchor === null || anchor > world.history.now ? [] : [{ user: id, anchor }]
  })
}

export const valueOfMember = (world: World, member: Member, attribute: Attribute): string =>
  classOf(
    world.history,
    member.user,
    world.charged.map(one => one.transaction),
  )(attribute)

/** The first run with a paid period of each subscription of the user. */
export const firstRunsOf = (world: World, user: string): Run[] =>
  world.subscriptions
    .filter(one => one.user === user)
    .map(one => one.runs.find(run => run.hasPaid))
    .filter(run => run !== undefined)

export const paidPeriods = (run: Run) => run.periods.filter(period => period.isPaid)

export function paymentsOf(world: World, { user, anchor }: Member, mode: Mode): Payment[] {
  const own = transactionsBy(world, user).filter(one => isPaid(one) && one.transaction.at <= world.history.now)
  if (mode === 'by_days')
    return own.map(charged => ({ charged, user, period: Math.max(0, Math.floor((charged.transaction.at - anchor) / DAY)) }))
  const runs = firstRunsOf(world, user)
  return own.flatMap(charged => {
    const run = runs.find(one => one === charged.run)
    return run ? [{ charged, user, period: paidPeriods(run).indexOf(charged.period!) + 1 }] : []
  })
}

/** Null: it cannot be converted. */
function revenueOf(world: World, conversion: Conversion, kind: Revenue, { transaction, subscription }: Charged): Exact | null {
  const { history } = world
  const { currency, at } = transaction
  const money = (one: { amount: Exact; usd: Exact | null }) => converted(history, conversion, { ...one, currency, at })
  if (kind === 'gross') return money(transaction)
  const { gained, lost } = proceedsOf(history, transaction, subscription ?? undefined)
  const all = money(gained)
  const taken = refundedBy(transaction, history.now).map(refund => money(lost(refund)))
  return all === null || taken.some(one => one === null) ? null : minus(all, sum(taken as Exact[]))
}

const share = (value: Exact, by: Exact): Exact => (order(by, ZERO) === 0 ? ZERO : over(value, by))
const distinct = <T>(values: T[]): Exact => exact(new Set(values).size)

/** The figures of a period from the payments in it, and from all up to it. */
export function figuresOf(world: World, conversion: Conversion, kind: Revenue, users: number, inside: Payment[], upTo: Payment[]) {
  const revenue = (payments: Payment[]) => sum(payments.map(one => revenueOf(world, conversion, kind, one.charged) ?? ZERO))
  const subscribed = upTo.filter(one => one.charged.subscription !== null)
  return {
    subscriptions: new Set(inside.flatMap(one => one.charged.subscription ?? [])).size,
    payers: new Set(inside.map(one => one.user)).size,
    revenue: shown(revenue(inside), 2),
    revenueUpTo: shown(revenue(upTo), 2),
    arpu: shown(share(revenue(upTo), exact(users)), 2),
    arppu: shown(share(revenue(upTo), distinct(upTo.map(one => one.user))), 2),
    arpas: shown(share(revenue(subscribed), distinct(subscribed.map(one => one.charged.subscription))), 2),
  }
}
