import { type Exact, exact, least, minus, order, sum, ZERO } from './exact.ts'
import type { History, Instant, Posted, Purchase, Store } from './history.ts'

export type Refund = { at: Instant; amount: Exact; usd: Exact | null }

/** One store charge or free period, with what became of it. */
export type Transaction = {
  key: string
  user: string
  store: Store
  product: string | null
  currency: string | null
  amount: Exact
  at: Instant
  /** The subscription that it belongs to; null: one-time. */
  subscription: string | null
  /** Null: one-time, or not known. */
  expires: Instant | null
  isIntro: boolean
  screen: string | null
  /** What the store or the caller stated, in the currency of the transaction. */
  proceeds: Exact | null
  usd: Exact | null
  proceedsUsd: Exact | null
  refunds: Refund[]
  /** The store's words about what follows this period; null: none. */
  offAt: Instant | null
  /** Off, on, off … within the period, where each change is known. */
  autoRenewChanges: Instant[]
  retryAt: Instant | null
  graceUntil: Instant | null
  expiredAt: Instant | null
  source: Purchase | Posted
}

const PERIODS = new Set(['trial_started', 'trial_converted', 'subscription_started', 'subscription_renewed'])
const OFF = new Set(['trial_canceled', 'subscription_canceled'])
const RETRY = new Set(['trial_billing_retry_entered', 'subscription_billing_retry_entered'])
const EXPIRED = new Set(['trial_expired', 'subscription_expired'])
const REFUNDS = new Set(['subscription_refunded', 'in_app_refunded'])

const given = (text: string | null): Exact | null => (text === null ? null : exact(text))
const timeOf = (event: Posted): Instant => event.transactionDate ?? event.happenedAt
const lineageOf = (event: Posted): string => `${event.store}|${event.lineage ?? event.transaction ?? event.id}`

function ofPurchase(purchase: Purchase): Transaction {
  const amount = exact(purchase.price)
  // The statements of a history only ever raise what went back; a free period that is refunded gives back nothing.
  const refunded = purchase.refundStatements
    .map(({ at, total }, i, all) => ({ at, amount: minus(exact(total), exact(all[i - 1]?.total ?? '0')), usd: null }))
    .filter((refund, i) => i === 0 || order(refund.amount, ZERO) > 0)
  return {
    key: `${purchase.store}|${purchase.transaction}`,
    user: purchase.user,
    store: purchase.store,
    product: purchase.product,
    currency: purchase.currency,
    amount,
    at: purchase.purchasedAt,
    subscription: purchase.lineage === null ? null : `${purchase.store}|${purchase.lineage}`,
    expires: purchase.expiresAt,
    isIntro: purchase.isIntro,
    screen: purchase.screen,
    proceeds: null,
    usd: null,
    proceedsUsd: null,
    refunds: refunded,
    offAt: purchase.autoRenewOffAt,
    autoRenewChanges: purchase.autoRenewChanges,
    retryAt: purchase.billingRetryAt,
    graceUntil: purchase.graceExpiresAt,
    expiredAt: null,
    source: purchase,
  }
}

function ofPosted(event: Posted): Transaction {
  return {
    key: `${event.store}|${event.transaction ?? event.id}`,
    user: event.user,
    store: event.store!,
    product: event.product,
    currency: event.currency,
    amount: given(event.price) ?? ZERO,
    at: timeOf(event),
    subscription: event.name === 'in_app_purchase' ? null : lineageOf(event),
    expires: event.name === 'in_app_purchase' ? null : event.expiresAt,
    isIntro: false,
    screen: event.screen,
    proceeds: given(event.proceeds),
    usd: given(event.priceUsd),
    proceedsUsd: given(event.proceedsUsd),
    refunds: [],
    offAt: null,
    autoRenewChanges: [],
    retryAt: null,
    graceUntil: null,
    expiredAt: null,
    source: event,
  }
}

/** Several posted refunds of one transaction add up to its amount at most. */
function refundsOf(transaction: Transaction, events: Posted[]): Refund[] {
  const refunds: Refund[] = []
  for (const event of events.toSorted((a, b) => a.happenedAt - b.happenedAt)) {
    const rest = minus(transaction.amount, sum(refunds.map(refund => refund.amount)))
    const amount = least(given(event.price) ?? rest, rest)
    if (order(amount, ZERO) > 0) refunds.push({ at: event.happenedAt, amount, usd: given(event.priceUsd) })
  }
  return refunds
}

/** A posted refund repeats a stated one of the same amount. Otherwise it gives back what it names, of what is left. */
function withPosted(transaction: Transaction, events: Posted[]): Refund[] {
  const repeated = [...transaction.refunds]
  const refunds = [...transaction.refunds]
  for (const event of events.toSorted((a, b) => a.happenedAt - b.happenedAt)) {
    const price = exact(event.price!)
    const same = repeated.findIndex(({ amount }) => order(amount, price) === 0)
    if (same >= 0) repeated.splice(same, 1)
    const amount = least(price, minus(transaction.amount, sum(refunds.map(refund => refund.amount))))
    if (same < 0 && order(amount, ZERO) > 0) refunds.push({ at: event.happenedAt, amount, usd: null })
  }
  return refunds
}

/** A word about a subscription is about the latest period that had begun. */
function hear(transactions: Transaction[], event: Posted): void {
  const periods = transactions.filter(period => period.subscription === lineageOf(event) && period.at <= event.happenedAt)
  const period = periods.toSorted((a, b) => a.at - b.at).at(-1)
  if (!period) return
  const earliest = (known: Instant | null) => Math.min(known ?? event.happenedAt, event.happenedAt)
  if (OFF.has(event.name)) period.offAt = earliest(period.offAt)
  if (EXPIRED.has(event.name)) period.expiredAt = earliest(period.expiredAt)
  if (RETRY.has(event.name)) {
    period.retryAt = event.happenedAt
    period.graceUntil = event.graceExpiresAt
  }
}

/** Transactions that count: no family sharing, no free one-time purchases, and each store transaction once, the purchase before the event. */
export function transactionsOf(history: History): Transaction[] {
  const purchases = history.arrivals.filter(arrival => arrival.is === 'purchase')
  const recorded = new Set(purchases.map(purchase => `${purchase.store}|${purchase.transaction}`))
  const events = history.arrivals
    .filter(arrival => arrival.is === 'event')
    .filter(event => event.transaction === null || !recorded.has(`${event.store}|${event.transaction}`))
  const posted = events.filter(event => PERIODS.has(event.name) || event.name === 'in_app_purchase').map(ofPosted)
  for (const transaction of posted)
    transaction.refunds = refundsOf(
      transaction,
      events.filter(event => REFUNDS.has(event.name) && `${event.store}|${event.transaction}` === transaction.key),
    )
  // Of several words about one thing the last counts.
  for (const event of events.toSorted((a, b) => a.happenedAt - b.happenedAt)) hear(posted, event)
  const refunding = Map.groupBy(
    history.arrivals.filter(arrival => arrival.is === 'event').filter(event => REFUNDS.has(event.name)),
    event => `${event.store}|${event.transaction}`,
  )
  const charged = purchases
    .filter(purchase => !purchase.isFamilyShared)
    .map(ofPurchase)
    .map(transaction => ({ ...transaction, refunds: withPosted(transaction, refunding.get(transaction.key) ?? []) }))
  return [...charged, ...posted].filter(transaction => transaction.subscription !== null || order(transaction.amount, ZERO) > 0)
}

/** The instant at which all of the amount had been refunded; null: never. */
export function fullRefundAt(transaction: Transaction): Instant | null {
  const refunds = transaction.refunds.toSorted((a, b) => a.at - b.at)
  for (const [i, refund] of refunds.entries())
    if (order(sum(refunds.slice(0, i + 1).map(part => part.amount)), transaction.amount) >= 0) return refund.at
  return null
}
