import type { MemberCount } from './members.ts'
import type { PaymentRow, Payments } from './payments.ts'

/** Users of one or more segments and cohorts, with their payments by period. `over`: how many of the users have so many periods behind them. */
export type MemberGroup = Omit<MemberCount, 'segment' | 'cohort' | 'over'> & { over: Map<number, number>; periods: Map<number, Payments> }

export const NO_PAYMENTS: Payments = {
  payers: 0,
  firstPayers: 0,
  subscriptions: 0,
  firstPaid: 0,
  open: 0,
  revenue: 0n,
  recurring: 0n,
}

export const addPayments = (a: Payments, b: Payments): Payments => ({
  payers: a.payers + b.payers,
  firstPayers: a.firstPayers + b.firstPayers,
  subscriptions: a.subscriptions + b.subscriptions,
  firstPaid: a.firstPaid + b.firstPaid,
  open: a.open + b.open,
  revenue: a.revenue + b.revenue,
  recurring: a.recurring + b.recurring,
})

/** The users of the counts as one group; null: there are none. */
function together(counts: MemberCount[], payments: PaymentRow[]): MemberGroup | null {
  if (counts.length === 0) return null
  const periods = new Map<number, Payments>()
  for (const row of payments) periods.set(row.period, addPayments(periods.get(row.period) ?? NO_PAYMENTS, row))
  const sum = (of: (count: MemberCount) => number) => counts.reduce((total, count) => total + of(count), 0)
  const over = new Map<number, number>()
  for (const count of counts) over.set(count.over, (over.get(count.over) ?? 0) + count.users)
  return {
    over,
    users: sum(({ users }) => users),
    paying: sum(({ paying }) => paying),
    firstAnchor: Math.min(...counts.map(({ firstAnchor }) => firstAnchor)),
    lastAnchor: Math.max(...counts.map(({ lastAnchor }) => lastAnchor)),
    periods,
  }
}

/** The whole and its parts by cohort; parts without users are left out. */
export type GroupByCohort = { whole: MemberGroup | null; cohorts: Map<number, MemberGroup> }

function byCohort(counts: MemberCount[], payments: PaymentRow[]): GroupByCohort {
  const paymentsOf = Map.groupBy(payments, ({ cohort }) => cohort)
  const groups = [...Map.groupBy(counts, ({ cohort }) => cohort)].map(([cohort, own]): [number, MemberGroup] => [
    cohort,
    together(own, paymentsOf.get(cohort) ?? [])!,
  ])
  return { whole: together(counts, payments), cohorts: new Map(groups.sort(([a], [b]) => a - b)) }
}

/** All users, and those of each segment. */
export function groupedMembers(
  counts: MemberCount[],
  payments: PaymentRow[],
  segments: number,
): { all: GroupByCohort; segments: GroupByCohort[] } {
  const countsOf = Map.groupBy(counts, ({ segment }) => segment)
  const paymentsOf = Map.groupBy(payments, ({ segment }) => segment)
  return {
    all: byCohort(counts, payments),
    segments: Array.from({ length: segments }, (_, segment) => byCohort(countsOf.get(segment) ?? [], paymentsOf.get(segment) ?? [])),
  }
}
