import type { Entry } from '../events/entry.ts'
import { compareAmounts, plus } from '../events/money.ts'
import { TRANSACTION_FACTS } from '../subscriptions/posted.ts'
import { micros } from '../time/instant.ts'

const transactions = new Set<string>(TRANSACTION_FACTS)

/** Transactions to add to those that are counted already; times in µs, `usd` an exact decimal. `last`: the latest payment among them. */
export type PaymentsAdded = {
  firstAt: number
  payments: number
  converted: number
  usd: string
  last: { at: number; currency: string | null; product: string } | null
}

/**
 * What posted transactions add to the figures of their customers. For amounts in USD the result equals that of `recount`, at the cost of the new
 * ones alone.
 */
export function addedPayments(entries: Entry[]): Map<string, PaymentsAdded> {
  const added = new Map<string, PaymentsAdded>()
  for (const { item, at: happened, user, money } of entries) {
    if (!transactions.has(item.event_name)) continue
    const at = item.transaction?.transaction_date ? micros(item.transaction.transaction_date) : happened
    const sum = added.get(user!) ?? { firstAt: at, payments: 0, converted: 0, usd: '0', last: null }
    added.set(user!, sum)
    sum.firstAt = Math.min(sum.firstAt, at)
    if (money.price === null || compareAmounts(money.price, '0') <= 0) continue
    sum.payments++
    if (money.currency === 'USD') {
      sum.converted++
      sum.usd = plus(sum.usd, money.price)
    }
    if (sum.last === null || at >= sum.last.at) sum.last = { at, currency: money.currency, product: item.product_id ?? '' }
  }
  return added
}
