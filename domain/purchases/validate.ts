import type { Tx } from '../../store/connect.ts'
import { NO_PRODUCT_ID, PRODUCT_ID } from '../catalogue/products/product.ts'
import { compareAmounts, isCurrency, NO_CURRENCY } from '../events/money.ts'
import type { Environment } from '../kernel/environment.ts'
import { MAX_AHEAD_MS, TOO_FAR_AHEAD } from '../kernel/limits.ts'
import { type Detail, invalidField, invalidFields, Refusal } from '../kernel/refusal.ts'
import { type PurchaseInput, type StoreClaim, storeClaim } from './claim.ts'
import { isRecurring } from './linked.ts'
import type { StatedPeriod } from './store-facts/stated-period.ts'
import { LAST_MS } from './subscriptions/period.ts'

/** A purchase to record, with all defaults filled in. Times are whole seconds. */
export type Claim = StoreClaim & {
  isSubscription: boolean
  currency: string
  price: string
  /** False: neither the caller nor the store states a price, and `price` is 0. */
  isPriced: boolean
  purchasedAt: string
  expiresAt: string | null
  autoRenewing: boolean
  periodType: 'normal' | 'trial' | 'intro' | null
  familyShared: boolean
  isDiscounted: boolean
  country: string | null
  screen: string | null
  triggers: boolean
}

export const wholeSecond = (time: string): string => `${new Date(Math.floor(Date.parse(time) / 1000) * 1000).toISOString().slice(0, 19)}Z`

type LinkedProduct = { id: string | null; type: string | null; duration: string | null; now: string; end: string | null }

/** The product that links the store's product. `end` is `from` plus the duration of the product (calendar, UTC). */
async function findProduct(tx: Tx, environment: Environment, claim: StoreClaim, from: string): Promise<LinkedProduct> {
  const { rows } = await tx.query<LinkedProduct>({
    name: 'find-linked-product',
    text: `select p.id, p.type, p.duration, n.now,
             ((($5::timestamptz at time zone 'UTC') + p.duration::interval) at time zone 'UTC') as end
           from environment_now($1) n(now)
           left join products p on p.environment = $1 and p.id = linked_product($1, $2, $3, $4)`,
    values: [environment, claim.platform, claim.product, claim.basePlan, from],
  })
  return rows[0]!
}

const UNPRICED = { price: '0', currency: 'USD' }

type StatedFields = { currency: string; price: string; isPriced: boolean; purchased_at: string }

/** The three fields that are required unless the transaction is signed. */
function requireFields(given: PurchaseInput, takesUnpriced: boolean): StatedFields {
  const isPriced = !takesUnpriced || (given.price !== undefined && given.currency !== undefined)
  const input = isPriced ? given : { ...given, ...UNPRICED }
  const missing: Detail[] = (['currency', 'price', 'purchased_at'] as const).flatMap(field =>
    input[field] === undefined ? [{ field, message: 'is required' }] : [],
  )
  if (missing.length > 0) throw invalidFields(missing)
  return { currency: input.currency!.toUpperCase(), price: input.price!, isPriced, purchased_at: wholeSecond(input.purchased_at!) }
}

const otherFieldsOf = (input: PurchaseInput) => ({
  familyShared: input.is_family_shared ?? false,
  isDiscounted: input.is_discounted ?? false,
  country: input.country ?? null,
  screen: input.screen_id ?? null,
  triggers: input.trigger ?? true,
})

function validateOneTime(input: PurchaseInput): Detail[] {
  const faults: Detail[] = []
  if (input.expires_at !== undefined) faults.push({ field: 'expires_at', message: 'is not allowed for a one-time purchase' })
  if (input.is_auto_renewing === true) faults.push({ field: 'is_auto_renewing', message: 'must be false for a one-time purchase' })
  if (input.period_type !== undefined) faults.push({ field: 'period_type', message: 'is not allowed for a one-time purchase' })
  return faults
}

/** A period that is free because of a discount is no trial. */
function periodTypeFault(input: PurchaseInput, isFree: boolean): string | undefined {
  const { is_family_shared, is_discounted, period_type: type } = input
  if (is_family_shared || type === undefined) return undefined
  if (isFree && is_discounted) return type === 'normal' ? undefined : 'must be normal when a discount makes it free'
  if ((type === 'trial') === isFree) return undefined
  return isFree ? 'must be trial when price is 0' : 'can be trial only when price is 0'
}

function validatePeriod(input: PurchaseInput, purchasedAt: string, expiresAt: string | null, isFree: boolean): Detail[] {
  const faults: Detail[] = []
  if (expiresAt === null) faults.push({ field: 'expires_at', message: 'is required: the product has no duration' })
  else if (Date.parse(expiresAt) <= Date.parse(purchasedAt))
    faults.push({ field: 'expires_at', message: 'must be later than purchased_at' })
  else if (Date.parse(expiresAt) > LAST_MS) faults.push({ field: 'expires_at', message: 'lies too far ahead' })
  const typeFault = periodTypeFault(input, isFree)
  if (typeFault) faults.push({ field: 'period_type', message: typeFault })
  return faults
}

/**
 * A purchase that the store confirms, of a product that no product of the project links: the store states what the linked product would
 * determine.
 */
function unlinkedClaim(store: StoreClaim, input: PurchaseInput, stated: StatedFields, word: StatedPeriod): Claim {
  const { currency, price, isPriced, purchased_at: purchasedAt } = stated
  const isSubscription = store.isSubscription ?? word.isSubscription === true
  return {
    ...store,
    ...otherFieldsOf(input),
    isSubscription,
    currency,
    price,
    isPriced,
    purchasedAt,
    expiresAt: isSubscription ? (word.ends ?? null) : null,
    autoRenewing: isSubscription,
    periodType: isSubscription ? (word.periodType ?? 'normal') : null,
  }
}

/**
 * The purchase to record, as the caller states it; null for a signed transaction. Throws `invalid_data` for its shape, then
 * `invalid_product_id`, `product_not_in_project`, or `invalid_data` when the store's data and the product have different types. `unlinked`: what the
 * store says of the transaction, which then needs no product that links it. `takesUnpriced`: price and currency may be missing.
 */
export async function validatePurchase(
  tx: Tx,
  environment: Environment,
  input: PurchaseInput,
  { unlinked = null, takesUnpriced = false }: { unlinked?: StatedPeriod | null | undefined; takesUnpriced?: boolean } = {},
): Promise<Claim | null> {
  const store = storeClaim(input)
  if (store === null) {
    if (input.currency !== undefined && !isCurrency(input.currency.toUpperCase())) throw invalidField('currency', NO_CURRENCY)
    return null
  }
  const stated = requireFields(input, takesUnpriced)
  const { currency, price, isPriced, purchased_at: purchasedAt } = stated
  if (!isCurrency(currency)) throw invalidField('currency', NO_CURRENCY)
  const product = await findProduct(tx, environment, store, purchasedAt)
  if (Date.parse(purchasedAt) > Date.parse(product.now) + MAX_AHEAD_MS) throw invalidField('purchased_at', TOO_FAR_AHEAD)
  if (!PRODUCT_ID.test(store.product))
    throw new Refusal('invalid_product_id', `${store.field} ${NO_PRODUCT_ID}`, [{ field: store.field, message: NO_PRODUCT_ID }])
  if (product.id === null && unlinked) return unlinkedClaim(store, input, stated, unlinked)
  if (product.id === null)
    throw new Refusal('product_not_in_project', `no product links ${store.field}`, [
      { field: store.field, message: 'is linked by no product' },
    ])
  const recurring = isRecurring(product)
  if (store.isSubscription !== null && store.isSubscription !== recurring)
    throw invalidField(
      store.field,
      recurring ? 'is a subscription, but the purchase is one-time' : 'is a one-time product, but the purchase is a subscription',
    )
  const isFree = isPriced && compareAmounts(price, '0') === 0
  const given = input.expires_at === undefined ? undefined : wholeSecond(input.expires_at)
  const expiresAt = recurring ? (given ?? product.end) : null
  const faults = recurring ? validatePeriod(input, purchasedAt, expiresAt, isFree) : validateOneTime(input)
  if (faults.length > 0) throw invalidFields(faults)
  return {
    ...store,
    ...otherFieldsOf(input),
    isSubscription: recurring,
    currency,
    price,
    isPriced,
    purchasedAt,
    expiresAt,
    autoRenewing: recurring && (input.is_auto_renewing ?? true),
    periodType: recurring ? (input.period_type ?? (isFree && !input.is_discounted ? 'trial' : 'normal')) : null,
  }
}
