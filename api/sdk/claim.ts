import { googlePlanOf } from '../../domain/catalogue/products/product.ts'
import { Refusal } from '../../domain/kernel/refusal.ts'
import type { PurchaseInput } from '../../domain/purchases/claim.ts'
import { type ReasonTime, reasonTime } from '../../domain/purchases/sandbox-claim.ts'
import { claimToVerify, type Evidence, verificationTime } from '../../domain/purchases/verification.ts'
import { timeLimit } from '../../store/time-limit.ts'
import { evidenceOfApp, recordOfApp, withCause } from '../app-purchase.ts'
import { recordRefusedClaim } from '../purchase-attempts.ts'
import { attemptIn, logRefusedPurchase } from '../refused-attempts.ts'
import { SdkProblem } from './errors.ts'
import type { SdkCaller } from './operation.ts'

const NO_ANSWER = 'the store gave no answer'

/** Whoever has the app reads this: it tells no more of what the store knows. */
function fraudWords(evidence: Evidence): string {
  if (evidence.is === 'unconfirmed') return 'no store confirms the purchase'
  return evidence.is === 'other_environment' && !evidence.givesAccess
    ? 'the store confirms the purchase for the other environment'
    : 'the store does not confirm the purchase'
}

/** The refusals of a claim as SDKs understand them. */
function asSdkRefusal(error: unknown, evidence: Evidence): unknown {
  if (!(error instanceof Refusal)) return error
  switch (error.code) {
    case 'purchase_fraud':
      return new SdkProblem(evidence.is === 'unconfirmed' ? 'notConnected' : 'fraud', fraudWords(evidence))
    case 'network_error':
      return new SdkProblem(evidence.is === 'no_answer' && evidence.isRefused ? 'refusedCredentials' : 'noAnswer', NO_ANSWER)
    case 'conflict':
      return new SdkProblem('ofOtherUser', error.message)
    case 'product_not_in_project':
      return new SdkProblem('unlinkedProduct', error.message)
    case 'invalid_product_id':
    case 'invalid_data':
      return new SdkProblem('wrongPurchase', error.message)
    default:
      return error
  }
}

const evidenceOf = (call: SdkCaller, input: PurchaseInput, signal?: AbortSignal, reasons?: ReasonTime) =>
  evidenceOfApp(call, claimToVerify(input), signal, reasons)

/** Records a purchase with what its store says of it. A transaction that the user has already stays as it is. */
export async function recordClaim(call: SdkCaller, input: PurchaseInput, evidence: Evidence): Promise<void> {
  try {
    await recordOfApp(call, input, evidence)
  } catch (error) {
    throw withCause(asSdkRefusal(error, evidence), error)
  }
}

/** The app names a product, and Google's plan of it only by that. What the store says of the plan counts. */
async function withBasePlan({ deps, environment, inTurn }: SdkCaller, input: PurchaseInput, product: unknown): Promise<PurchaseInput> {
  const { play_store_data: data } = input
  // No product is called so, and Postgres takes no such text.
  if (!data || typeof product !== 'string' || product.includes('\0')) return input
  const plan = await inTurn(() => googlePlanOf(deps.listing, environment, product, data.product_id))
  return plan === null ? input : { ...input, play_store_data: { ...data, base_plan_id: plan } }
}

/** `product`: the id that the product has here, as the app names it. */
export async function claim(call: SdkCaller, input: PurchaseInput, product: unknown): Promise<void> {
  const evidence = await evidenceOf(call, input)
  await recordClaim(call, evidence.is === 'accepted' ? await withBasePlan(call, input, product) : input, evidence)
}

/** A phone waits so long for all stores together. */
const PATIENCE_MS = 25_000
const AT_ONCE = 5

/**
 * Claims each purchase for the user. What is refused is left out. What the store has not answered about is known only to the device: the SDK must
 * come back with it, so the error is thrown when the others are recorded.
 */
export async function claimEach(call: SdkCaller, inputs: PurchaseInput[]): Promise<void> {
  const late = timeLimit(PATIENCE_MS).signal
  const reasons = reasonTime()
  let unanswered: SdkProblem | undefined
  for (let from = 0; from < inputs.length; from += AT_ONCE) {
    const some = inputs.slice(from, from + AT_ONCE)
    const evidences = await Promise.all(some.map(input => evidenceOf(call, input, AbortSignal.any([late, verificationTime()]), reasons)))
    for (const [i, evidence] of evidences.entries()) {
      const problem = await refusalOf(recordClaim(call, some[i]!, evidence))
      if (!problem) continue
      if (problem.status >= 500) unanswered ??= problem
      // The failure of the request names no purchase: it is about all of them.
      await noteRefusal(call, some[i]!, problem)
    }
  }
  if (unanswered) throw unanswered
}

/** Why a claim was refused; undefined: it was not. Other failures are thrown. */
export const refusalOf = (work: Promise<void>): Promise<SdkProblem | undefined> =>
  work.then(
    () => undefined,
    error => {
      if (error instanceof SdkProblem) return error
      throw error
    },
  )

/** One of several purchases is refused: the app does not hear which. */
export async function noteRefusal(call: SdkCaller, input: object, problem: SdkProblem): Promise<void> {
  const { log, trail, owner, environmentKind } = call
  const { status, code, message } = problem
  const about = {
    id: trail.requestId,
    operation: trail.operation,
    project: owner.project,
    environment: environmentKind,
    ...attemptIn(input),
  }
  logRefusedPurchase(log, about, { status, code, reason: message })
  await recordRefusedClaim(call, input, problem)
}
