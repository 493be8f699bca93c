import type { StoreConfig } from './stores/config.ts'
import { type AnyClaim, type Claimant, type Evidence, gatherEvidence, type VerificationDeps, verificationTime } from './verification.ts'

/**
 * As `gatherEvidence`, but what Apple does not know of production is then asked of its sandbox: `other_environment` if it is a purchase there. Both
 * questions have the time of one.
 */
export async function gatherEvidenceOfBoth(
  deps: VerificationDeps,
  claimant: Claimant,
  claim: AnyClaim,
  config: StoreConfig | null,
  signal = verificationTime(),
): Promise<Evidence> {
  const evidence = await gatherEvidence(deps, claimant, claim, config, signal)
  if (evidence.is !== 'unknown' || claimant.environment === 'sandbox' || claim.platform !== 'app_store') return evidence
  const there = await gatherEvidence(deps, { ...claimant, environment: 'sandbox' }, claim, config, signal)
  if (there.is === 'confirmed') return { ...there, is: 'other_environment' }
  return there.is === 'no_answer' ? there : evidence
}
