import { seconds } from './sources.ts'
import type { Transaction } from './transactions.ts'

/** The last day of each period of a cohort by days. */
export const COHORT_DAYS = [0, 1, 3, 7, 14, 30, 60, 90, 120, 180, 270, 365, 540, 730] as const
const DAY_S = 86_400

/** Unix seconds; null: there was none. */
export type Anchors = { created: number; first_trial: number | null; first_paid: number | null; first_trial_or_paid: number | null }

/** Free one-time purchases are no transactions. Of a period without a stated amount its name says whether it was paid. */
export const isPaid = ({ kind }: Transaction): boolean => kind !== 'trial'

const first = (some: Transaction[]): number | null => (some[0] ? seconds(some[0].at) : null)

/** `transactions` in order of time. */
export const anchorsOf = (created: number, transactions: Transaction[]): Anchors => ({
  created: seconds(created),
  first_trial: first(transactions.filter(({ kind }) => kind === 'trial')),
  first_paid: first(transactions.filter(isPaid)),
  first_trial_or_paid: first(transactions.filter(transaction => transaction.kind === 'trial' || isPaid(transaction))),
})

/** The period of a cohort by days that a time lies in; null: after the last one. Before the anchor: the first. */
function periodOf(at: number, anchor: number): number | null {
  const day = Math.max(0, Math.floor((at - anchor) / DAY_S))
  const period = COHORT_DAYS.findIndex(last => day <= last)
  return period === -1 ? null : period
}

const SUBSCRIPTION_BIT = 3
const FIRST_OF_SUBSCRIPTION = 1 << 6
const FIRST_OF_RENEWAL = 1 << 7

const [USER, RENEWALS, EVER] = [Symbol('user'), Symbol('renewals'), -1]

/** Tells whether a number comes for the first time, each subject by itself. */
function firstOfEach(): (about: string | symbol, number: number) => boolean {
  const seen = new Map<string | symbol, Set<number>>()
  return (about, number) => {
    const numbers = seen.get(about) ?? new Set()
    seen.set(about, numbers)
    return numbers.size < numbers.add(number).size
  }
}

export type TransactionRelation = { firsts: number; paidBefore: number | null }

/**
 * The bits of `firsts` of each transaction, and of a paid one the time of the paid transaction before it. `transactions` in order of time. By these
 * bits distinct payers and subscriptions are counted without a look at other rows.
 */
export function relationsOf(transactions: Transaction[], anchors: Anchors): Map<Transaction, TransactionRelation> {
  const found = new Map<Transaction, TransactionRelation>()
  const isFirst = firstOfEach()
  const of = [anchors.created, anchors.first_trial_or_paid, anchors.first_paid]
  let paidBefore: number | null = null
  for (const transaction of transactions) {
    const at = seconds(transaction.at)
    const { subscription, renewal = null } = transaction.period ?? {}
    let firsts = renewal !== null && isFirst(RENEWALS, renewal) ? FIRST_OF_RENEWAL : 0
    if (!isPaid(transaction)) {
      found.set(transaction, { firsts, paidBefore: null })
      continue
    }
    for (const [bit, anchor] of of.entries()) {
      const period = anchor === null ? null : periodOf(at, anchor)
      if (period === null) continue
      const ofAnchor = bit * COHORT_DAYS.length + period
      if (isFirst(USER, ofAnchor)) firsts |= 1 << bit
      if (subscription !== undefined && isFirst(subscription, ofAnchor)) firsts |= 1 << (SUBSCRIPTION_BIT + bit)
    }
    if (subscription !== undefined && isFirst(subscription, EVER)) firsts |= FIRST_OF_SUBSCRIPTION
    found.set(transaction, { firsts, paidBefore })
    paidBefore = at
  }
  return found
}
