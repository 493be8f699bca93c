import type { Db } from '../../store/connect.ts'
import type { EnvironmentKind } from '../environment.ts'
import type { Secrets } from '../projects/secrets.ts'
import { Refusal } from '../refusal.ts'
import { CONFIGURATION_OF_STORE, findStoreConfig, isConnected, type StoreConfig, type StoreValue, storeValue } from '../stores/config.ts'
import type { Store } from '../subscriptions/purchase.ts'
import type { StoreClaim } from './claim.ts'

/** Which callers may record a purchase that no store confirms: none; those with the Secret Key (in the sandbox all); all. */
export type UnverifiedPurchases = 'none' | 'secret' | 'all'

/** A period or charge as the store reports it. Times are whole seconds, UTC. */
export type StorePeriod = {
  transaction: string | null
  order: string | null
  product: string
  basePlan: string | null
  isSubscription: boolean
  currency: string
  price: string
  purchasedAt: string
  expiresAt: string | null
  periodType: 'normal' | 'trial' | 'intro' | null
  autoRenewing: boolean
  neverRenews: boolean
  billingRetryAt: string | null
  graceUntil: string | null
  refundedAt: string | null
  refundedAmount: string | null
}

/** The result of asking a store. `periods`: the claimed one first, then all others that the store reports for the lineage. */
export type VerificationResult = { is: 'confirmed'; periods: [StorePeriod, ...StorePeriod[]] } | { is: 'unknown' }

type Inquiry = {
  claim: StoreClaim
  environment: EnvironmentKind
  config: StoreConfig
  secret: StoreValue
  signal: AbortSignal
}

/** Asks one store about a purchase. Throws when the store fails or does not answer. */
type Verify = (inquiry: Inquiry) => Promise<VerificationResult>
export type Verifiers = Partial<Record<Store, Verify>>

/**
 * What supports a claim. accepted: no store is connected, and the configuration accepts unconfirmed purchases. unconfirmed: it does not.
 * no_answer: the store failed or was too slow. no_verifier: this service cannot ask the connected store.
 */
export type Evidence = VerificationResult | { is: 'accepted' } | { is: 'unconfirmed' } | { is: 'no_answer' } | { is: 'no_verifier' }

const TIMEOUT_MS = 10_000

type VerificationDeps = { verifiers: Verifiers; secrets: Secrets; unverifiedPurchases: UnverifiedPurchases }

/** The configuration of the store that can confirm the claim. */
export const configOfStore = (db: Db, project: number, { platform }: StoreClaim): Promise<StoreConfig | null> =>
  findStoreConfig(db, project, CONFIGURATION_OF_STORE[platform])

/**
 * Asks the store, if the project has connected it. Call it outside of a transaction: it waits for the store. It does not throw for a failure of
 * the store.
 */
export async function gatherEvidence(
  { verifiers, secrets, unverifiedPurchases }: VerificationDeps,
  project: number,
  environment: EnvironmentKind,
  claim: StoreClaim | null,
  config: StoreConfig | null,
): Promise<Evidence> {
  // The signature cannot be verified here, so a signed transaction is not confirmed.
  if (claim === null) return { is: 'unknown' }
  const value = config && storeValue(secrets, project, config)
  if (config === null || value === null || !isConnected(config, environment, value))
    return { is: unverifiedPurchases === 'none' ? 'unconfirmed' : 'accepted' }
  const verify = verifiers[claim.platform]
  if (!verify) return { is: 'no_verifier' }
  return verify({ claim, environment, config, secret: value, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => ({
    is: 'no_answer' as const,
  }))
}

/** The store's periods; null when the claim needs no confirmation. Throws `purchase_fraud`, `network_error` or `not_available`. */
export function acceptedPeriods(evidence: Evidence): StorePeriod[] | null {
  switch (evidence.is) {
    case 'confirmed':
      return evidence.periods
    case 'accepted':
      return null
    case 'unknown':
      throw new Refusal('purchase_fraud', 'the store does not confirm the purchase')
    case 'unconfirmed':
      throw new Refusal('purchase_fraud', 'no store confirms the purchase')
    case 'no_answer':
      throw new Refusal('network_error', 'the store gave no answer')
    case 'no_verifier':
      throw new Refusal(
        'not_available',
        'the connected store must confirm the purchase, but verification with this store is not available yet',
      )
    default:
      return evidence satisfies never
  }
}
