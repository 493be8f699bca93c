import { timeLimit } from '../../store/time-limit.ts'
import type { EnvironmentKind } from '../kernel/environment.ts'
import type { StoreConfig } from './stores/config.ts'
import type { Store } from './subscriptions/purchase.ts'
import { type AnyClaim, type Claimant, type Evidence, gatherEvidence, type VerificationDeps, verificationTime } from './verification.ts'

const OTHER: Record<EnvironmentKind, EnvironmentKind> = { production: 'sandbox', sandbox: 'production' }

/** The stores that are asked for the reason. */
const KEEPS_APART = new Set<Store>(['app_store', 'stripe'])

/** The purchases of a request that are refused anyway wait no longer for their reasons. */
const REASON_MS = 3_000

/** How long the purchases of one request wait for their reasons together: from the first call on. */
export type ReasonTime = () => AbortSignal

export function reasonTime(): ReasonTime {
  let limit: AbortSignal | undefined
  return () => {
    limit ??= timeLimit(REASON_MS).signal
    return limit
  }
}

/**
 * As `gatherEvidence`. What the store does not know is looked up in its other environment, where it keeps the two apart: the claim is refused all the
 * same, and its reason says so. Google Play states the environment itself; Paddle has one budget for all projects, which is kept for claims.
 */
export async function gatherEvidenceWithReason(
  deps: VerificationDeps,
  claimant: Claimant,
  claim: AnyClaim,
  config: StoreConfig | null,
  signal = verificationTime(),
  reasons = reasonTime(),
): Promise<Evidence> {
  const evidence = await gatherEvidence(deps, claimant, claim, config, signal)
  const isUnknown = evidence.is === 'unknown' && (evidence.why ?? 'store_says_no') === 'store_says_no'
  if (!isUnknown || !KEEPS_APART.has(claim.platform) || !('lineage' in claim)) return evidence
  const there = { ...claimant, environment: OTHER[claimant.environment] }
  const limit = AbortSignal.any([signal, reasons()])
  // A request that is not sent takes nothing from the budget.
  if (limit.aborted) return evidence
  const { is } = await gatherEvidence(deps, there, claim, config, limit, true)
  return is === 'confirmed' ? { ...evidence, why: 'other_environment' } : evidence
}

/**
 * As `gatherEvidence`. A purchase that Apple does not know in production is fetched from Apple's sandbox next: `other_environment` if the
 * sandbox knows it. Both requests together have the time limit of one.
 */
export async function gatherEvidenceOfBoth(
  deps: VerificationDeps,
  claimant: Claimant,
  claim: AnyClaim,
  config: StoreConfig | null,
  signal = verificationTime(),
  reasons = reasonTime(),
): Promise<Evidence> {
  if (claimant.environment === 'sandbox' || claim.platform !== 'app_store')
    return gatherEvidenceWithReason(deps, claimant, claim, config, signal, reasons)
  const evidence = await gatherEvidence(deps, claimant, claim, config, signal)
  if (evidence.is !== 'unknown') return evidence
  const there = await gatherEvidence(deps, { ...claimant, environment: 'sandbox' }, claim, config, signal)
  if (there.is === 'confirmed') return { ...there, is: 'other_environment' }
  return there.is === 'no_answer' ? there : evidence
}
