import { type Exact, exact, minus, order, over, plus, rounded, sum, times } from './exact.ts'
import { DAY, type History } from './history.ts'
import type { Subscription } from './subscriptions.ts'
import type { Refund, Transaction } from './transactions.ts'

const LOYAL_AFTER = 365 * DAY

function paidSecondsBefore(subscription: Subscription, transaction: Transaction): number {
  return subscription.periods
    .filter(period => period.isPaid && period.begin < transaction.at)
    .reduce((seconds, period) => seconds + period.end - period.begin, 0)
}

/** The store's usual share, as a decimal. */
function standardRate(transaction: Transaction, subscription: Subscription | undefined): string {
  switch (transaction.store) {
    case 'iOS':
      return subscription && paidSecondsBefore(subscription, transaction) >= LOYAL_AFTER ? '0.85' : '0.70'
    case 'Android':
      return subscription ? '0.85' : '0.70'
    case 'Stripe':
      return '1'
    case 'Paddle':
      return '0.95'
  }
}

/** A stated figure that equals the standard one states nothing. */
const isStated = (transaction: Transaction, standard: Exact): boolean =>
  transaction.proceeds !== null && order(transaction.proceeds, times(transaction.amount, standard)) !== 0

/** The part of a stated amount that belongs to a part of the price, in millionths. */
const partOf = (stated: Exact, part: Exact, whole: Exact): Exact => rounded(over(times(stated, part), whole), 6)

/** What a refund takes of a stated amount: several refunds together take what one of their sum would. */
function takenBy(transaction: Transaction, refund: Refund, stated: Exact): Exact {
  const earlier = transaction.refunds.slice(0, transaction.refunds.indexOf(refund))
  const before = sum(earlier.map(one => one.amount))
  const of = (amount: Exact) => partOf(stated, amount, transaction.amount)
  return minus(of(plus(before, refund.amount)), of(before))
}

/** Proceeds of the transaction, of its refunds, and what remains, in the transaction's currency; `usd`: where only dollars are stated. */
export function proceedsOf(history: History, transaction: Transaction, subscription: Subscription | undefined) {
  const standard = exact(standardRate(transaction, subscription))
  const rate = exact(history.proceedsRates?.[transaction.store] ?? standardRate(transaction, subscription))
  const stated = isStated(transaction, standard) ? transaction.proceeds : null
  const ofGiven = (given: Exact | null): Exact | null => given && times(given, rate)
  const { amount, usd, proceedsUsd } = transaction
  return {
    gained: { amount: stated ?? times(amount, rate), usd: proceedsUsd ?? ofGiven(usd) },
    lost: (refund: Refund) => ({
      amount: stated ? takenBy(transaction, refund, stated) : times(refund.amount, rate),
      usd: proceedsUsd ? takenBy(transaction, refund, proceedsUsd) : ofGiven(refundedUsd(transaction, refund)),
    }),
  }
}

/** What a refund is in the dollars that the caller stated. */
export function refundedUsd(transaction: Transaction, refund: Refund): Exact | null {
  if (refund.usd) return refund.usd
  return transaction.usd && takenBy(transaction, refund, transaction.usd)
}

export const refundedBy = (transaction: Transaction, now: number): Refund[] => transaction.refunds.filter(refund => refund.at <= now)
