import type { StoreConfig } from './stores/config.ts'
import { type AnyClaim, type Claimant, type Evidence, gatherEvidence, type VerificationDeps, verificationTime } from './verification.ts'

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
): Promise<Evidence> {
  const evidence = await gatherEvidence(deps, claimant, claim, config, signal)
  if (evidence.is !== 'unknown' || claimant.environment === 'sandbox' || claim.platform !== 'app_store') return evidence
  const there = await gatherEvidence(deps, { ...claimant, environment: 'sandbox' }, claim, config, signal)
  if (there.is === 'confirmed') return { ...there, is: 'other_environment' }
  return there.is === 'no_answer' ? there : evidence
}
