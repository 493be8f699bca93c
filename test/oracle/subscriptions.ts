import { order, ZERO } from './exact.ts'
import { DAY, type Instant } from './history.ts'
import { fullRefundAt, type Transaction } from './transactions.ts'

const RETRY_DAYS = 60
/** A renewal that begins this long after the end of a period joins it. */
const JOINED_WITHIN = DAY

/** A paid or free period of a subscription. */
export type Period = {
  transaction: Transaction
  begin: Instant
  /** Its expiry, the begin of the next period, or its full refund: the earliest. */
  end: Instant
  isPaid: boolean
  /** Billing retry after it: [from, until). Null: none. */
  retry: { from: Instant; until: Instant } | null
  isJoined: boolean
}

/** A maximal chain of joined periods. */
export type Run = {
  periods: Period[]
  end: Instant
  /** Nobody has access afterwards: with a retry, the end of the period or of the grace that was granted. */
  accessEnd: Instant
  /** False while time alone would end it and a renewal may still be reported. */
  isOver: boolean
  hasPaid: boolean
  /** Auto-renew is off since then, or billing was given up without a payment; null: never. */
  cancelledAt: Instant | null
  /** The same, and every time that auto-renew was switched off in a paid period. */
  cancellations: Instant[]
}

export type Subscription = { key: string; user: string; periods: Period[]; runs: Run[] }

function endOf(period: Transaction, next: Transaction | undefined): Instant {
  const refund = fullRefundAt(period)
  return Math.min(period.expires ?? Number.MAX_SAFE_INTEGER, next?.at ?? Number.MAX_SAFE_INTEGER, refund ?? Number.MAX_SAFE_INTEGER)
}

/** Retry ends with the next payment or period, with the store's word, or after 60 days. A store that gives up switches auto-renew off. */
function retryOf(period: Transaction, end: Instant, later: Transaction[]): Period['retry'] {
  const from = period.retryAt
  // Who got everything back owes nothing.
  if (from === null || fullRefundAt(period) !== null) return null
  const recovered = later.find(next => order(next.amount, ZERO) > 0 && next.at >= from)?.at
  // A grace period that the store granted lasts to its end, with auto-renew off as well.
  const words = [period.offAt && Math.max(period.offAt, period.graceUntil ?? from), period.expiredAt]
    .filter(word => word !== null)
    .map(word => Math.max(word, from))
  const next = later[0]?.at ?? Number.MAX_SAFE_INTEGER
  const until = Math.min(from + RETRY_DAYS * DAY, recovered ?? Number.MAX_SAFE_INTEGER, next, ...words)
  // What was over before the period ended has no effect.
  return until > end ? { from, until } : null
}

function joins(next: Transaction, before: Period): boolean {
  if (before.transaction.offAt !== null) return false
  if (next.at <= before.end + JOINED_WITHIN) return true
  // The payment that ends a retry lies at its very end.
  return (
    before.retry !== null && next.at >= before.retry.from && next.at < before.retry.from + RETRY_DAYS * DAY && next.at <= before.retry.until
  )
}

function runOf(periods: Period[], now: Instant): Run {
  const last = periods.at(-1)!
  const end = last.retry ? Math.max(last.end, last.retry.until) : last.end
  const { offAt, expiredAt } = last.transaction
  const isWord = offAt !== null || expiredAt !== null || last.retry !== null || fullRefundAt(last.transaction) === last.end
  const cancelledAt = offAt ?? last.retry?.until ?? null
  const switched = periods
    .filter(period => period.isPaid)
    .flatMap(({ begin, transaction }) => transaction.autoRenewChanges.filter((_, i) => i % 2 === 0).map(at => Math.max(at, begin)))
  return {
    periods,
    end,
    accessEnd: last.retry ? Math.max(last.end, Math.min(last.transaction.graceUntil ?? last.end, end)) : end,
    isOver: end <= now && (isWord || end + JOINED_WITHIN <= now),
    hasPaid: periods.some(period => period.isPaid),
    cancelledAt,
    cancellations: [...new Set([...switched, ...(cancelledAt === null ? [] : [cancelledAt])])],
  }
}

function subscriptionOf(key: string, transactions: Transaction[], now: Instant): Subscription {
  const sorted = transactions.toSorted((a, b) => a.at - b.at)
  const periods: Period[] = []
  for (const [i, transaction] of sorted.entries()) {
    const before = periods.at(-1)
    const end = endOf(transaction, sorted[i + 1])
    periods.push({
      transaction,
      begin: transaction.at,
      end,
      isPaid: order(transaction.amount, ZERO) > 0,
      retry: retryOf(transaction, end, sorted.slice(i + 1)),
      isJoined: before !== undefined && joins(transaction, before),
    })
  }
  const chains: Period[][] = []
  for (const period of periods) {
    if (period.isJoined) chains.at(-1)!.push(period)
    else chains.push([period])
  }
  return { key, user: sorted[0]!.user, periods, runs: chains.map(chain => runOf(chain, now)) }
}

export function subscriptionsOf(transactions: Transaction[], now: Instant): Subscription[] {
  const periods = transactions.filter(transaction => transaction.subscription !== null)
  return [...Map.groupBy(periods, transaction => transaction.subscription!)].map(([key, group]) => subscriptionOf(key, group, now))
}

export const runWith = (subscription: Subscription, period: Period): Run => subscription.runs.find(run => run.periods.includes(period))!
