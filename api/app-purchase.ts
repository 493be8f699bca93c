import type { AppUser } from '../domain/audience/customers/app-user.ts'
import { isLogConflict } from '../domain/events/write.ts'
import { audit, type Trail } from '../domain/kernel/audit/record.ts'
import type { EnvironmentKind } from '../domain/kernel/environment.ts'
import { MAX_AHEAD_MS } from '../domain/kernel/limits.ts'
import { Refusal } from '../domain/kernel/refusal.ts'
import type { KeyOwner } from '../domain/projects/keys.ts'
import { ClaimRefusal, refusalOfEvidence } from '../domain/purchases/attempts/reason.ts'
import type { PurchaseInput } from '../domain/purchases/claim.ts'
import { confirmedPeriod } from '../domain/purchases/confirmed-claim.ts'
import { isTransactionConflict } from '../domain/purchases/create.ts'
import { grantSandboxAccess, sandboxAccessOf } from '../domain/purchases/entitlements/sandbox-access.ts'
import { gatherEvidenceOfBoth, gatherEvidenceWithReason, type ReasonTime } from '../domain/purchases/sandbox-claim.ts'
import { type AnyClaim, type Confirmation, configOfStore, type Evidence } from '../domain/purchases/verification.ts'
import type { Pool } from '../store/connect.ts'
import { transaction } from '../store/transaction.ts'
import type { ApiDeps } from './operation.ts'
import { recordPurchase } from './purchase.ts'
import type { StatementTurn } from './request-turns.ts'
import { wholeSeconds } from './time.ts'
import { shownGrant } from './v3/shown-grant.ts'

/** Who claims a purchase in an app, and where. */
export type AppClaimant = {
  owner: KeyOwner
  user: AppUser
  environmentKind: EnvironmentKind
  trail: Trail & { environment: number }
  deps: ApiDeps
  db: Pool
  inTurn: StatementTurn
}

/** What the protocol of an app tells of an error, with the error itself: the record of refused claims goes by it. */
export function withCause(problem: unknown, error: unknown): unknown {
  if (problem instanceof Error && problem !== error) problem.cause = error
  return problem
}

/** When it was bought, in seconds; without a time, and for one that lies too far ahead, now. `now` in µs. */
export function purchasedAt(purchased: number | undefined, now: number): string {
  const nowMs = now / 1000
  return wholeSeconds(purchased === undefined || purchased * 1000 > nowMs + MAX_AHEAD_MS ? nowMs : purchased * 1000)
}

/** What the store says of a claim. Holds no turn during a fetch from the store. `reasons`: shared by the claims of one request. */
export async function evidenceOfApp(
  { owner, environmentKind, deps, inTurn }: AppClaimant,
  claim: AnyClaim,
  signal?: AbortSignal,
  reasons?: ReasonTime,
): Promise<Evidence> {
  const { config, access } = await inTurn(async db => ({
    config: await configOfStore(db, owner.project, claim),
    access: claim.platform === 'app_store' ? await sandboxAccessOf(db, owner.project) : 'refuse',
  }))
  const claimant = { project: owner.project, environment: environmentKind, key: owner.kind }
  const gather = access === 'grant' ? gatherEvidenceOfBoth : gatherEvidenceWithReason
  const evidence = await gather(deps, claimant, claim, config, signal, reasons)
  return evidence.is === 'other_environment' && access === 'grant' ? { ...evidence, givesAccess: true } : evidence
}

/**
 * Records what the evidence supports, in a turn. A transaction that the user has already stays as it is. Throws what `createPurchase` throws, but
 * `network_error` in place of `product_not_in_project` when the store gave no answer: whether an unlinked product is a fault, only the store says.
 */
export const recordOfApp = (call: AppClaimant, input: PurchaseInput, evidence: Evidence): Promise<void> =>
  call.inTurn(() =>
    evidence.is === 'other_environment' && evidence.givesAccess ? giveSandboxAccess(call, evidence) : record(call, input, evidence),
  )

async function record({ db, trail, user }: AppClaimant, input: PurchaseInput, evidence: Evidence): Promise<void> {
  try {
    await transaction(
      db,
      tx => recordPurchase(tx, trail, { user: user.id, input, evidence, takesUnlinked: true, takesUnpriced: input.price === undefined }),
      error => isLogConflict(error) || isTransactionConflict(error),
    )
  } catch (error) {
    if (error instanceof Refusal && error.code === 'already_exists') return
    const isUndecided = error instanceof Refusal && error.code === 'product_not_in_project' && evidence.is === 'no_answer'
    throw isUndecided ? refusalOfEvidence(evidence) : error
  }
}

/** Gives a user of production, such as App Review, for a short time what a purchase of the sandbox gives there. Nothing else is recorded. */
async function giveSandboxAccess({ db, trail, user, deps }: AppClaimant, evidence: Confirmation): Promise<void> {
  const { product, ends = null } = confirmedPeriod(evidence) ?? {}
  if (product === undefined) throw new ClaimRefusal('purchase_fraud', 'claim_differs', 'the store does not confirm the purchase')
  await transaction(db, async tx => {
    for (const { entitlement: id, before, after } of await grantSandboxAccess(tx, trail.environment, user.id, { product, ends })) {
      const change = { before: before && shownGrant(id, before), after: shownGrant(id, after) }
      await audit(tx, trail, { resource: 'user_entitlement', id, user: user.id, ...change })
    }
  })
  deps.metrics.sandboxInProduction()
}
