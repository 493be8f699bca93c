import type { Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import { updateTraitsByPurchase } from '../customers/write-users.ts'
import type { Environment } from '../environment.ts'
import { alreadyExists, Refusal } from '../refusal.ts'
import { type PurchaseRow, TARGET_PLATFORM } from '../subscriptions/purchase.ts'
import { lockUsers, requireUser } from '../users/user.ts'
import type { PurchaseInput } from './claim.ts'
import { claimLineage, hasShare, type Lineage, resolveOwner } from './lineage.ts'
import { findRecorded, lockClaimedLineage, postedUsersOf } from './locate.ts'
import { getPurchase } from './read.ts'
import { confirmPurchase, insertPurchase } from './record.ts'
import { refold } from './refold.ts'
import { type Claim, validatePurchase } from './validate.ts'
import { acceptedPeriods, type Evidence, type StorePeriod } from './verification.ts'

/** A concurrent request has recorded the transaction in a lineage of another name. The repeated request finds it there. */
export const isTransactionConflict = (error: unknown): boolean => isUniqueViolation(error, 'purchases_by_transaction')

/** The claim with the values of the store in place of the caller's. */
const asConfirmed = (claim: Claim, period: StorePeriod): Claim => ({
  ...claim,
  transaction: period.transaction,
  order: period.order,
  product: period.product,
  basePlan: period.basePlan,
  isSubscription: period.isSubscription,
  currency: period.currency,
  price: period.price,
  purchasedAt: period.purchasedAt,
  expiresAt: period.expiresAt,
  periodType: period.periodType,
  autoRenewing: period.autoRenewing,
})

/** Gives the id of the purchase. Null: the transaction is recorded in another lineage than the claimed one. */
async function writeConfirmed(
  tx: Tx,
  environment: Environment,
  claim: Claim,
  lineage: Lineage,
  owner: string,
  period: StorePeriod,
): Promise<string | null> {
  const confirmed = asConfirmed(claim, period)
  const known = await findRecorded(tx, environment, confirmed, lineage)
  if (!known) return insertPurchase(tx, environment, confirmed, lineage, owner, period)
  if (known.lineage !== lineage.id) return null
  await confirmPurchase(tx, environment, known.id, period)
  return known.id
}

/**
 * Records a purchase as the store confirms it, or as the caller states it when no confirmation is required; then updates everything that
 * is derived from it. Throws in this order: `invalid_data`, `invalid_product_id` or `product_not_in_project`; `not_found` for the user;
 * `already_exists` when the user has the transaction; `conflict` when another user has it and the transfer policy is `keep`;
 * `purchase_fraud` or `network_error` by the evidence.
 */
export async function createPurchase(
  tx: Tx,
  environment: Environment,
  user: string,
  input: PurchaseInput,
  evidence: Evidence,
): Promise<PurchaseRow> {
  const claim = await validatePurchase(tx, environment, input)
  await requireUser(tx, environment, user)
  // The signature cannot be verified here, so the transaction is not confirmed.
  if (claim === null) throw new Refusal('purchase_fraud', 'the signed transaction is not confirmed by a known certificate of the store')
  const { lineage, known } = await lockClaimedLineage(tx, environment, claim)
  if (known && (known.user_id === user || (await hasShare(tx, environment, lineage.id, user))))
    throw alreadyExists('the transaction is recorded already')
  const { owner, former, by } = await resolveOwner(tx, environment, lineage, user)
  const periods = acceptedPeriods(evidence)
  const posted = await postedUsersOf(tx, environment, claim)
  const owners = [owner, ...(former === null ? [] : [former])]
  // Lock the claiming user too, even if a share changes no facts of this user: a concurrent erasure would otherwise miss the share.
  await lockUsers(tx, environment, [user, ...owners], posted)
  await claimLineage(tx, environment, lineage, user, by)
  const written: string[] = []
  for (const period of periods ?? []) {
    const recorded = await writeConfirmed(tx, environment, claim, lineage, owner, period)
    if (recorded) written.push(recorded)
  }
  if (periods === null && !known) written.push(await insertPurchase(tx, environment, claim, lineage, owner, null))
  await updateTraitsByPurchase(tx, environment, owner, {
    platform: TARGET_PLATFORM[claim.platform],
    country: claim.country,
    at: claim.purchasedAt,
  })
  await refold(tx, environment, [...new Set([...owners, ...posted])].sort())
  return getPurchase(tx, environment, user, known?.id ?? written[0]!)
}
