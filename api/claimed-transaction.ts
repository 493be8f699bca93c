import { type AttemptedClaim, tokenDigest } from '../domain/purchases/attempts/attempt.ts'
import type { Store } from '../domain/purchases/subscriptions/purchase.ts'

/** Where a body has the data of each store. */
const STORE_OF: Record<string, Store> = {
  app_store_data: 'app_store',
  play_store_data: 'play_store',
  stripe_store_data: 'stripe',
  paddle_store_data: 'paddle',
}
/** Neither a purchase token nor a signed transaction: both are longer. */
export const PUBLIC_ID = /^[\w.:@-]{1,100}$/

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The part of a body that identifies a purchase in its store. */
export function storeDataIn(body: unknown): { store: Store; data: Fields } | null {
  if (!isFields(body)) return null
  for (const [name, store] of Object.entries(STORE_OF)) if (isFields(body[name])) return { store, data: body[name] }
  if (!isFields(body.purchase)) return null
  return { store: 'purchase_token' in body.purchase ? 'play_store' : 'app_store', data: body.purchase }
}

/** As stores form it. What has another form may be anything, such as a token in the wrong field. */
const PRODUCT = /^[\w.:-]{1,150}$/
const textOf = (value: unknown): string | undefined => {
  const text = typeof value === 'number' ? String(value) : value
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** What the body of a purchase claims. What is no public id of a transaction is kept as a digest only. */
export function claimedIn(body: unknown): AttemptedClaim {
  const found = storeDataIn(body)
  const platform = found?.store ?? null
  const data: Fields = found?.data ?? {}
  const product = textOf(data.product_id) ?? textOf(data.product)
  const id = textOf(data.transaction_id) ?? textOf(data.subscription_id) ?? textOf(data.order_id)
  const isPublic = id !== undefined && PUBLIC_ID.test(id)
  const token = textOf(data.purchase_token) ?? textOf(data.signed_transaction) ?? (isPublic ? undefined : id)
  return {
    platform,
    product: product !== undefined && PRODUCT.test(product) ? product : null,
    transaction: isPublic ? id : null,
    token: token === undefined ? null : tokenDigest(token),
  }
}
