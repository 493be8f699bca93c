import { type Detail, invalidField, invalidFields } from '../kernel/refusal.ts'
import type { Store } from './subscriptions/purchase.ts'

/** A purchase as the caller sends it. The API description has validated its shape. */
export type PurchaseInput = {
  currency?: string
  price?: string
  purchased_at?: string
  expires_at?: string
  is_auto_renewing?: boolean
  period_type?: 'normal' | 'trial' | 'intro'
  is_discounted?: boolean
  is_family_shared?: boolean
  country?: string | null
  screen_id?: string | null
  trigger?: boolean
  app_store_data?: { transaction_id?: string; product_id?: string; original_transaction_id?: string; signed_transaction?: string }
  play_store_data?: { purchase_token: string; product_id: string; order_id?: string; base_plan_id?: string }
  stripe_store_data?: { subscription_id: string; product_id: string }
  paddle_store_data?: { transaction_id: string; product_id: string; type: 'subscription' | 'non_recurring'; subscription_id?: string }
}

/** The part of a claim that identifies the purchase in its store: lineage, transaction and product. `field` is the input field of the product. */
export type StoreClaim = {
  platform: Store
  field: string
  product: string
  basePlan: string | null
  lineage: string
  transaction: string | null
  originalTransaction: string | null
  token: string | null
  order: string | null
  subscription: string | null
  storeType: string | null
  /** The store's data determine it; null: the type of the product determines it. */
  isSubscription: boolean | null
}

const NONE = { basePlan: null, transaction: null, originalTransaction: null, token: null, order: null, subscription: null, storeType: null }

function appStore(data: NonNullable<PurchaseInput['app_store_data']>): StoreClaim | null {
  const { transaction_id: transaction, product_id: product, original_transaction_id: original, signed_transaction } = data
  if (signed_transaction !== undefined) {
    if (transaction !== undefined || product !== undefined || original !== undefined)
      throw invalidField('app_store_data', 'takes either signed_transaction alone or the other fields')
    return null
  }
  const missing: Detail[] = []
  if (transaction === undefined) missing.push({ field: 'app_store_data.transaction_id', message: 'is required' })
  if (product === undefined) missing.push({ field: 'app_store_data.product_id', message: 'is required' })
  if (transaction === undefined || product === undefined) throw invalidFields(missing)
  const lineage = original ?? transaction
  const field = 'app_store_data.product_id'
  return { ...NONE, platform: 'app_store', field, product, lineage, transaction, originalTransaction: lineage, isSubscription: null }
}

function playStore(data: NonNullable<PurchaseInput['play_store_data']>): StoreClaim {
  const { purchase_token: token, product_id: product, order_id: order = null, base_plan_id: basePlan = null } = data
  const field = 'play_store_data.product_id'
  return { ...NONE, platform: 'play_store', field, product, basePlan, lineage: token, token, order, isSubscription: null }
}

function stripe({ subscription_id: subscription, product_id: product }: NonNullable<PurchaseInput['stripe_store_data']>): StoreClaim {
  return {
    ...NONE,
    platform: 'stripe',
    field: 'stripe_store_data.product_id',
    product,
    lineage: subscription,
    subscription,
    isSubscription: true,
  }
}

function paddle(data: NonNullable<PurchaseInput['paddle_store_data']>): StoreClaim {
  const { transaction_id: transaction, product_id: product, type, subscription_id: subscription = null } = data
  if (type === 'subscription' && subscription === null)
    throw invalidField('paddle_store_data.subscription_id', 'is required for a subscription')
  if (type !== 'subscription' && subscription !== null)
    throw invalidField('paddle_store_data.subscription_id', 'is not allowed for a non-recurring transaction')
  return {
    ...NONE,
    platform: 'paddle',
    field: 'paddle_store_data.product_id',
    product,
    // Both ids name a lineage here. Paddle's subscription ids and transaction ids never collide.
    lineage: subscription ?? transaction,
    transaction,
    subscription,
    storeType: type,
    isSubscription: type === 'subscription',
  }
}

/** The claim of the one store object in the input. Null for a signed transaction: only its signature reveals its content. */
export function storeClaim(input: PurchaseInput): StoreClaim | null {
  const claims = [
    input.app_store_data && (() => appStore(input.app_store_data!)),
    input.play_store_data && (() => playStore(input.play_store_data!)),
    input.stripe_store_data && (() => stripe(input.stripe_store_data!)),
    input.paddle_store_data && (() => paddle(input.paddle_store_data!)),
  ].filter(claim => claim !== undefined)
  if (claims.length !== 1)
    throw invalidField('body', 'must have exactly one of app_store_data, play_store_data, stripe_store_data, paddle_store_data')
  return claims[0]!()
}
