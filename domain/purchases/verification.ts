import type { Db } from '../../store/connect.ts'
import { timeLimit } from '../../store/time-limit.ts'
import type { EnvironmentKind } from '../kernel/environment.ts'
import { Refusal } from '../kernel/refusal.ts'
import type { KeyOwner } from '../projects/keys.ts'
import type { Secrets } from '../projects/secrets.ts'
import { type PurchaseInput, type StoreClaim, storeClaim } from './claim.ts'
import type { StoreReport } from './store-facts/statement.ts'
import { CONFIGURATION_OF_STORE, findStoreConfig, isConnected, type StoreConfig, type StoreValue, storeValue } from './stores/config.ts'
import type { Store } from './subscriptions/purchase.ts'

/** Which callers may record a purchase that no store confirms: none; those with the Secret Key (in the sandbox all); all. */
export type UnverifiedPurchases = 'none' | 'secret' | 'all'

/** A transaction of the App Store that only its signature identifies. */
export type SignedClaim = { platform: 'app_store'; signedTransaction: string }

/** A transaction that a receipt names. It proves nothing by itself: all purchases of the customer whose transaction it is are fetched. */
export type CustomerClaim = { platform: 'app_store'; customerTransaction: string }

export type AnyClaim = StoreClaim | SignedClaim | CustomerClaim

/**
 * The answer of the store to a claim: everything that it knows of the lineage. `lineage` and `subject` name the claimed transaction in the
 * reports.
 */
export type Confirmation = { environment: EnvironmentKind; reports: StoreReport[]; lineage: string; subject: string }

/** What a store answered, in short: a code such as `http_404_4040010`, and its message without what would let a reader claim something. */
export type StoreWord = { code: string; message?: string | undefined }

/** Why a store does not confirm a purchase. */
export type NotKnown =
  | 'store_says_no'
  | 'not_paid'
  | 'claim_differs'
  | 'other_app'
  | 'other_environment'
  | 'signature_invalid'
  | 'not_credible'
  | 'malformed'

/**
 * The result of a fetch from a store. unknown: it does not confirm the purchase; without `why` it does not know it. `isRefused`: it does not accept the
 * credentials of the project.
 */
export type VerificationResult =
  | ({ is: 'confirmed' } & Confirmation)
  | { is: 'unknown'; why?: NotKnown; word?: StoreWord | undefined }
  | { is: 'no_answer'; isRefused?: true; word?: StoreWord | undefined }

/** `config` null: nothing is stored for the store. `isForReason`: the claim is refused whatever the store says, which only gives the reason. */
type Inquiry = {
  project: number
  claim: AnyClaim
  environment: EnvironmentKind
  config: StoreConfig | null
  secret: StoreValue
  signal: AbortSignal
  isForReason: boolean
}

/** Fetches a purchase from one store. Throws when the store fails or does not answer. */
type Verify = (inquiry: Inquiry) => Promise<VerificationResult>
export type Verifiers = Record<Store, Verify>

/**
 * The evidence for a claim. accepted: no store is connected, and the configuration accepts unconfirmed purchases. unconfirmed: the
 * configuration does not accept them. no_answer: the store failed or was too slow. other_environment: the store confirms a purchase of the
 * other environment (App Review buys in the sandbox); `givesAccess`: the project grants access for it. `isConnected`: purchases can be
 * fetched from the store.
 */
export type Evidence =
  | ({ is: 'confirmed'; isConnected: boolean } & Confirmation)
  | ({ is: 'other_environment'; givesAccess?: true } & Confirmation)
  | Exclude<VerificationResult, { is: 'confirmed' }>
  | { is: 'accepted' }
  | { is: 'unconfirmed' }

const TIMEOUT_MS = 10_000

/** How long a claim waits for its store, whatever is fetched. */
export const verificationTime = (): AbortSignal => timeLimit(TIMEOUT_MS).signal

/** Who claims: by which key, and in which environment the user is. */
export type Claimant = { project: number; environment: EnvironmentKind; key: KeyOwner['kind'] }

export type VerificationDeps = { verifiers: Verifiers; secrets: Secrets; unverifiedPurchases: UnverifiedPurchases }

/** The configuration of the store that can confirm the claim. */
export const configOfStore = (db: Db, project: number, { platform }: { platform: Store }): Promise<StoreConfig | null> =>
  findStoreConfig(db, project, CONFIGURATION_OF_STORE[platform])

/** What is fetched from a store. */
export const claimToVerify = (input: PurchaseInput): StoreClaim | SignedClaim => {
  const claim = storeClaim(input)
  return claim ?? { platform: 'app_store', signedTransaction: input.app_store_data!.signed_transaction! }
}

const isWordEnough = (policy: UnverifiedPurchases, { key, environment }: Claimant): boolean =>
  policy === 'all' || (policy === 'secret' && (key === 'secret' || environment === 'sandbox'))

/** Whether the store can be asked, and with which of its settings. */
function access({ secrets }: Pick<VerificationDeps, 'secrets'>, { project, environment }: Claimant, config: StoreConfig | null) {
  const value: StoreValue = config === null ? () => null : storeValue(secrets, project, config)
  return { value, canFetch: config !== null && isConnected(config, environment, value) }
}

/**
 * The evidence for a claim without a call of its store: one that could be asked is taken to confirm what the caller states. For a dry run. Throws
 * `not_available` for a signed transaction, whose content is known when its signature is verified.
 */
export function assumedEvidence(deps: VerificationDeps, claimant: Claimant, claim: AnyClaim, config: StoreConfig | null): Evidence {
  if ('signedTransaction' in claim)
    throw new Refusal('not_available', 'a signed transaction has no dry run: its store is asked what it names')
  const isTaken = access(deps, claimant, config).canFetch || isWordEnough(deps.unverifiedPurchases, claimant)
  return { is: isTaken ? 'accepted' : 'unconfirmed' }
}

/**
 * Fetches from the store, if the project has connected it; a signature is verified in any case. Call it outside of a transaction: it waits for the store. It
 * does not throw for a failure of the store. `isForReason`: what is fetched decides nothing, so it takes only what claims and queues can spare.
 */
export async function gatherEvidence(
  deps: VerificationDeps,
  claimant: Claimant,
  claim: AnyClaim,
  config: StoreConfig | null,
  signal = verificationTime(),
  isForReason = false,
): Promise<Evidence> {
  const { project, environment } = claimant
  const { value, canFetch } = access(deps, claimant, config)
  const isSigned = 'signedTransaction' in claim
  if (!isSigned && !canFetch) return { is: isWordEnough(deps.unverifiedPurchases, claimant) ? 'accepted' : 'unconfirmed' }
  const verify = deps.verifiers[claim.platform]
  const result = await verify({ project, claim, environment, config, secret: value, signal, isForReason }).catch(
    (): VerificationResult => ({ is: 'no_answer', word: { code: signal.aborted ? 'timeout' : 'failed' } }),
  )
  if (result.is !== 'confirmed') return result
  return result.environment === environment ? { ...result, isConnected: canFetch } : { ...result, is: 'other_environment' }
}
