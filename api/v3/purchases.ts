import { isCurrency } from '../../domain/events/money.ts'
import { Refusal } from '../../domain/kernel/refusal.ts'
import type { PurchaseInput } from '../../domain/purchases/claim.ts'
import { claimToVerify } from '../../domain/purchases/verification.ts'
import type { V3Input } from '../../schemas/v3/operation-types.ts'
import { evidenceOfApp, purchasedAt, recordOfApp, withCause } from '../app-purchase.ts'
import { invalidV3, V3Problem } from './errors.ts'
import { onUserInTurns } from './operation.ts'

type Body = V3Input<'v3CreatePurchase'>['body']
const PRICE = /^[0-9]{1,12}(\.[0-9]{1,6})?$/
const STORES = ['stripe_store_data', 'paddle_store_data', 'app_store_data', 'play_store_data'] as const

/** The store object of the request with the fields that are known. */
function storeObject(body: Body): Pick<PurchaseInput, (typeof STORES)[number]> {
  const { stripe_store_data: stripe, paddle_store_data: paddle, app_store_data: apple, play_store_data: google } = body
  const picked = <T extends object, K extends keyof T>(from: T, ...names: K[]) =>
    Object.fromEntries(names.flatMap(name => (from[name] === undefined ? [] : [[name, from[name]]]))) as Pick<T, K>
  return {
    ...(stripe && { stripe_store_data: picked(stripe, 'subscription_id', 'product_id') }),
    ...(paddle && { paddle_store_data: picked(paddle, 'transaction_id', 'product_id', 'type', 'subscription_id') }),
    ...(apple && { app_store_data: picked(apple, 'transaction_id', 'product_id', 'original_transaction_id', 'signed_transaction') }),
    ...(google && { play_store_data: picked(google, 'purchase_token', 'product_id', 'order_id', 'base_plan_id') }),
  }
}

const wrong = (field: string, message: string) => invalidV3([{ field, message }], message)

type Claimed = { store: ReturnType<typeof storeObject>; claim: ReturnType<typeof claimToVerify>; price: string; currency: string }

/** Store objects first, then price and currency, each with the error of its own that clients know. */
function check({ body }: V3Input<'v3CreatePurchase'>): Claimed {
  const store = storeObject(body)
  const claim = claimToVerify(store)
  const { price, currency } = body
  if (typeof price !== 'string' || !PRICE.test(price)) throw wrong('price', 'failed to parse price')
  if (typeof currency !== 'string' || !isCurrency(currency.toUpperCase())) throw wrong('currency', 'failed to recognize currency')
  return { store, claim, price, currency: currency.toUpperCase() }
}

/** The refusals of a claim as v3 tells them. */
function asV3Refusal(error: unknown, productField: string): unknown {
  if (!(error instanceof Refusal)) return error
  switch (error.code) {
    case 'conflict':
      return new V3Problem('already_exists', error.message)
    case 'product_not_in_project':
    case 'invalid_product_id':
      return invalidV3(error.details!)
    case 'invalid_data':
      // v3 has no field for the end: only a product without a duration leaves it open.
      return invalidV3(error.details!.map(fault => (fault.field === 'expires_at' ? { ...fault, field: productField } : fault)))
    default:
      return error
  }
}

export const v3CreatePurchase = onUserInTurns('v3CreatePurchase', check, async call => {
  const { body, user } = call
  const { store, claim, price, currency } = call.checked
  const input: PurchaseInput = { ...store, price, currency, purchased_at: purchasedAt(body.purchased, user.now) }
  const evidence = await evidenceOfApp(call, claim)
  try {
    await recordOfApp(call, input, evidence)
  } catch (error) {
    const name = STORES.find(one => input[one] !== undefined)
    throw withCause(asV3Refusal(error, `${name}.product_id`), error)
  }
  return { user_id: user.id, currency, price, purchased: Math.floor((body.purchased ?? 0) / 1000) * 1000, ...store }
})
