import { audit } from '../../domain/audit/record.ts'
import { grantSandboxAccess, sandboxAccessOf } from '../../domain/entitlements/sandbox-access.ts'
import { isCurrency } from '../../domain/events/money.ts'
import { isLogConflict } from '../../domain/events/write.ts'
import { MAX_AHEAD_MS } from '../../domain/limits.ts'
import type { PurchaseInput } from '../../domain/purchases/claim.ts'
import { confirmedPeriod } from '../../domain/purchases/confirmed-claim.ts'
import { isTransactionConflict } from '../../domain/purchases/create.ts'
import { gatherEvidenceOfBoth } from '../../domain/purchases/sandbox-claim.ts'
import { type Confirmation, claimToVerify, configOfStore, type Evidence, gatherEvidence } from '../../domain/purchases/verification.ts'
import { Refusal } from '../../domain/refusal.ts'
import type { V3Input } from '../../schemas/v3/operation-types.ts'
import { transaction } from '../../store/transaction.ts'
import { recordPurchase } from '../purchase.ts'
import { wholeSeconds } from '../time.ts'
import { invalidV3, V3Problem } from './errors.ts'
import { onUserInTurns, type UserCall } from './operation.ts'
import { shownGrant } from './shown-grant.ts'

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

/** When it was bought; without a time, and for one that lies too far ahead, now. `now` in µs. */
function purchasedAt(purchased: number | undefined, now: number): string {
  const nowMs = now / 1000
  return wholeSeconds(purchased === undefined || purchased * 1000 > nowMs + MAX_AHEAD_MS ? nowMs : purchased * 1000)
}

type Call = UserCall<'v3CreatePurchase'>

/** The refusals of a claim as v3 tells them. Whether an unlinked product is one, only the store's answer says. */
function inWordsOfV3(error: unknown, evidence: Evidence, productField: string): unknown {
  if (!(error instanceof Refusal)) return error
  switch (error.code) {
    case 'conflict':
      return new V3Problem('already_exists', error.message)
    case 'product_not_in_project':
      return evidence.is === 'no_answer' ? new Refusal('network_error', 'the store gave no answer') : invalidV3(error.details!)
    case 'invalid_product_id':
      return invalidV3(error.details!)
    case 'invalid_data':
      // v3 has no field for the end: only a product without a duration leaves it open.
      return invalidV3(error.details!.map(fault => (fault.field === 'expires_at' ? { ...fault, field: productField } : fault)))
    default:
      return error
  }
}

/** Records what the evidence supports. A transaction that the user has already stays as it is. */
async function record({ db, trail, user }: Call, input: PurchaseInput, evidence: Evidence): Promise<void> {
  try {
    await transaction(
      db,
      tx => recordPurchase(tx, trail, { user: user.id, input, evidence, takesUnlinked: true }),
      error => isLogConflict(error) || isTransactionConflict(error),
    )
  } catch (error) {
    if (error instanceof Refusal && error.code === 'already_exists') return
    const store = STORES.find(name => input[name] !== undefined)
    throw inWordsOfV3(error, evidence, `${store}.product_id`)
  }
}

/** Gives a user of production, such as App Review, for a short time what a purchase of the sandbox gives there. Nothing else is recorded. */
async function giveSandboxAccess({ db, trail, user, deps }: Call, evidence: Confirmation): Promise<void> {
  const { product, ends = null } = confirmedPeriod(evidence) ?? {}
  if (product === undefined) throw new Refusal('purchase_fraud', 'the store does not confirm the purchase')
  await transaction(db, async tx => {
    for (const { entitlement: id, before, after } of await grantSandboxAccess(tx, trail.environment, user.id, { product, ends })) {
      const said = { before: before && shownGrant(id, before), after: shownGrant(id, after) }
      await audit(tx, trail, { resource: 'user_entitlement', id, user: user.id, ...said })
    }
  })
  deps.metrics.sandboxInProduction()
}

export const v3CreatePurchase = onUserInTurns('v3CreatePurchase', check, async call => {
  const { body, user, environmentKind, owner, deps, inTurn } = call
  const { store, claim, price, currency } = call.checked
  const input: PurchaseInput = { ...store, price, currency, purchased_at: purchasedAt(body.purchased, user.now) }
  const { config, access } = await inTurn(async db => ({
    config: await configOfStore(db, owner.project, claim),
    access: claim.platform === 'app_store' ? await sandboxAccessOf(db, owner.project) : 'refuse',
  }))
  const claimant = { project: owner.project, environment: environmentKind, key: owner.kind }
  const gather = access === 'grant' ? gatherEvidenceOfBoth : gatherEvidence
  const evidence = await gather(deps, claimant, claim, config)
  await inTurn(() =>
    evidence.is === 'other_environment' && access === 'grant' ? giveSandboxAccess(call, evidence) : record(call, input, evidence),
  )
  return { user_id: user.id, currency, price, purchased: Math.floor((body.purchased ?? 0) / 1000) * 1000, ...store }
})
