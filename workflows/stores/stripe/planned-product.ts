import type Stripe from 'stripe'
import type { KnownSubscription } from './fetch-subscription.ts'

type Priced = { price?: Stripe.Price | Stripe.DeletedPrice | string | null }

/** The product of a price, if the answer has it. */
function productOf({ price }: Priced): string[] {
  const product = typeof price === 'object' && price !== null && 'product' in price ? price.product : null
  if (product === null) return []
  return [typeof product === 'string' ? product : product.id]
}

/** The product that replaces `product` in a list of items; null: the product stays, or none replaces it. */
function insteadOf(product: string, items: readonly Priced[], owned: readonly string[]): string | null {
  const products = items.flatMap(productOf)
  return products.includes(product) ? null : (products.find(one => !owned.includes(one)) ?? null)
}

/**
 * The product to which Stripe will change: that of a change that waits for its payment, else that of the first later phase of the schedule
 * with another product. Null: none. Undefined: unknown.
 */
export function plannedProduct({ subscription, items, schedule, statedAt }: KnownSubscription, product: string): string | null | undefined {
  const owned = items.flatMap(productOf)
  const pending = insteadOf(product, subscription.pending_update?.subscription_items ?? [], owned)
  if (pending !== null) return pending
  if (schedule === undefined) return undefined
  if (schedule === null || schedule.status !== 'active') return null
  const later = schedule.phases.filter(({ start_date }) => start_date * 1000 > statedAt)
  return later.map(({ items: of }) => insteadOf(product, of, owned)).find(found => found !== null) ?? null
}
