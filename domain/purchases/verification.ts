import type { Db } from '../../store/connect.ts'
import type { EnvironmentKind } from '../environment.ts'
import type { Secrets } from '../projects/secrets.ts'
import { Refusal } from '../refusal.ts'
import { findStoreConfig, isConnected, openStoreSecret, type StoreConfig } from '../stores/config.ts'
import type { Store } from '../subscriptions/purchase.ts'
import type { StoreClaim } from './claim.ts'

/** Whose word suffices for a purchase that no store confirms: nobody's, the Secret Key's (and anybody's in the sandbox), anybody's. */
export type UnverifiedPurchases = 'none' | 'secret' | 'all'

/** A period or charge as the store knows it; times in whole seconds, UTC. */
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

/** What a store answers. `periods`: the claimed one first, then whatever else it reports for the lineage. */
export type Verdict = { is: 'confirmed'; periods: [StorePeriod, ...StorePeriod[]] } | { is: 'unknown' }

export type Inquiry = {
  claim: StoreClaim
  environment: EnvironmentKind
  config: StoreConfig
  secret: (name: string) => string | null
  signal: AbortSignal
}

/** Asks one store about a purchase. Throws when the store fails or gives no answer. */
export type Verify = (inquiry: Inquiry) => Promise<Verdict>
export type Verifiers = Partial<Record<Store, Verify>>

/** What is known about a claimed purchase before it is recorded. */
export type Evidence = Verdict | { is: 'word' } | { is: 'no_word' } | { is: 'no_answer' } | { is: 'no_verifier' }

const CONFIGURATION = { app_store: 'apple', play_store: 'google', stripe: 'stripe', paddle: 'paddle' } as const
const LIMIT_MS = 10_000

export type VerificationDeps = { verifiers: Verifiers; secrets: Secrets; unverifiedPurchases: UnverifiedPurchases }

/** Asks the store, if the project has connected it; outside of any transaction. Never throws for what the store does. */
export async function gatherEvidence(
  db: Db,
  { verifiers, secrets, unverifiedPurchases }: VerificationDeps,
  project: number,
  environment: EnvironmentKind,
  claim: StoreClaim | null,
): Promise<Evidence> {
  // Nothing here can check a signature, so nobody confirms what a signed transaction says.
  if (claim === null) return { is: 'unknown' }
  const platform = CONFIGURATION[claim.platform]
  const config = await findStoreConfig(db, project, platform)
  if (config === null || !isConnected(config)) return { is: unverifiedPurchases === 'none' ? 'no_word' : 'word' }
  const verify = verifiers[claim.platform]
  if (!verify) return { is: 'no_verifier' }
  const secret = (name: string) => openStoreSecret(secrets, project, platform, config, name)
  return verify({ claim, environment, config, secret, signal: AbortSignal.timeout(LIMIT_MS) }).catch(() => ({ is: 'no_answer' as const }))
}

/** The store's periods, or null when the caller's word suffices. Throws `purchase_fraud` or `network_error`. */
export function admit(evidence: Evidence): StorePeriod[] | null {
  switch (evidence.is) {
    case 'confirmed':
      return evidence.periods
    case 'word':
      return null
    case 'unknown':
      throw new Refusal('purchase_fraud', 'the store does not confirm the purchase')
    case 'no_word':
      throw new Refusal('purchase_fraud', 'no store confirms the purchase')
    case 'no_answer':
      throw new Refusal('network_error', 'the store gave no answer')
    case 'no_verifier':
      throw new Refusal('not_available', 'the store is connected, so it has to confirm the purchase: that is not available yet')
    default:
      return evidence satisfies never
  }
}
