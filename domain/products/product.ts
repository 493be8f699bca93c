import { type Detail, Refusal } from '../refusal.ts'

export type ProductType = 'subscription_with_promo' | 'subscription' | 'consumable' | 'lifetime'
export type ProductDuration = 'P1W' | 'P1M' | 'P3M' | 'P6M' | 'P1Y'

/** What a caller decides about a product, its id aside. `type` is null on imported rows only. */
export type ProductFacts = {
  type: ProductType | null
  duration: ProductDuration | null
  apple_product_id: string | null
  google_product_id: string | null
  google_base_plan_id: string | null
  stripe_product_id: string | null
  paddle_product_id: string | null
}
export type Product = ProductFacts & { id: string; created_at: string; updated_at: string }

export const PRODUCT_COLUMNS = `id, type, duration, apple_product_id, google_product_id, google_base_plan_id, stripe_product_id,
  paddle_product_id, created_at, updated_at`

/** The facts in the order in which statements take them. */
export const factValues = (facts: ProductFacts): (string | null)[] => [
  facts.type,
  facts.duration,
  facts.apple_product_id,
  facts.google_product_id,
  facts.google_base_plan_id,
  facts.stripe_product_id,
  facts.paddle_product_id,
]

/** Throws `invalid_data` with everything that is wrong with the facts together. */
export function checkFacts({ type, duration, google_product_id, google_base_plan_id }: ProductFacts): void {
  const faults: Detail[] = []
  const isSubscription = type === 'subscription' || type === 'subscription_with_promo'
  if (isSubscription && duration === null) faults.push({ field: 'duration', message: 'is required for subscriptions' })
  // An imported product without type counts as what its duration says.
  if (type !== null && !isSubscription && duration !== null)
    faults.push({ field: 'duration', message: 'must be null for consumable and lifetime' })
  if (google_base_plan_id !== null && google_product_id === null)
    faults.push({ field: 'google_base_plan_id', message: 'needs google_product_id' })
  if (faults.length > 0) throw new Refusal('invalid_data', faults.map(({ field, message }) => `${field} ${message}`).join('; '), faults)
}
