import type { Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import { noteSeen } from '../customers/write-users.ts'
import { type Environment, now as nowOf } from '../environment.ts'
import { alreadyExists, Refusal } from '../refusal.ts'
import { type PurchaseRow, TARGET_PLATFORM } from '../subscriptions/purchase.ts'
import { lockUsers, requireUser } from '../users/user.ts'
import { canceled, changed } from './changes.ts'
import type { PurchaseInput } from './claim.ts'
import { claimLineage, hasShare, type Lineage, validateLineage } from './lineage.ts'
import { getPurchase } from './list.ts'
import { findRecorded, locate, postedFor } from './locate.ts'
import { confirmPurchase, insertPurchase } from './record.ts'
import { refold } from './refold.ts'
import { type Claim, validatePurchase } from './validate.ts'
import { admit, type Evidence, type StorePeriod } from './verification.ts'

const FACTLESS = { billing_retry_at: null, grace_period_expires_at: null, refunded_at: null, refunded_amount: null }

/** What was recorded: `before` null for a new row. */
type Written = { id: string; before: PurchaseRow | null }

/** Recorded meanwhile in a lineage of another name: the repeat finds it. */
export const isTransactionConflict = (error: unknown): boolean => isUniqueViolation(error, 'purchases_by_transaction')

/** The claim as the store tells it: its values replace the caller's. */
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

/** null: the transaction stands in another lineage, which is not the one that was asked about. */
async function writeConfirmed(
  tx: Tx,
  environment: Environment,
  claim: Claim,
  lineage: Lineage,
  owner: string,
  period: StorePeriod,
): Promise<Written | null> {
  const confirmed = asConfirmed(claim, period)
  const known = await findRecorded(tx, environment, confirmed, lineage)
  if (!known) return { id: await insertPurchase(tx, environment, confirmed, lineage, owner, period), before: null }
  return known.lineage === lineage.id ? { id: known.id, before: await confirmPurchase(tx, environment, known.id, period) } : null
}

/** The events that the written facts say by themselves, beside those that follow from them. */
function said(purchases: PurchaseRow[], written: Written[], now: string) {
  return written.flatMap(({ id, before }) => {
    const after = purchases.find(purchase => String(purchase.id) === id)
    if (before) return changed(before, after, now)
    return after ? [...canceled(purchases, id), ...changed({ ...after, ...FACTLESS }, after, now)] : []
  })
}

/**
 * Records a purchase on the store's word, or else the caller's, with all that follows from it. Throws in this order: `invalid_data`,
 * `invalid_product_id` or `product_not_in_project`; `not_found` for the user; `already_exists` when the user has the transaction;
 * `conflict` when it is another user's and the transfer policy keeps it there; `purchase_fraud` or `network_error` by the evidence.
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
  // Nothing here can check the signature, so nobody confirms what it says.
  if (claim === null) throw new Refusal('purchase_fraud', 'the signed transaction is not confirmed by a known certificate of the store')
  const { lineage, known } = await locate(tx, environment, claim)
  if (known && (known.user_id === user || (await hasShare(tx, environment, lineage.id, user))))
    throw alreadyExists('the transaction is recorded already')
  const { owner, former, by } = await validateLineage(tx, environment, lineage, user)
  const periods = admit(evidence)
  const told = await postedFor(tx, environment, claim)
  const parties = [owner, ...(former === null ? [] : [former])]
  // The asking one too, whose facts a shared lineage does not change: an erasure would leave the share behind.
  await lockUsers(tx, environment, [user, ...parties], told)
  await claimLineage(tx, environment, lineage, user, by)
  const written: Written[] = []
  for (const period of periods ?? []) {
    const one = await writeConfirmed(tx, environment, claim, lineage, owner, period)
    if (one) written.push(one)
  }
  if (periods === null && !known) written.push({ id: await insertPurchase(tx, environment, claim, lineage, owner, null), before: null })
  await noteSeen(tx, environment, owner, { platform: TARGET_PLATFORM[claim.platform], country: claim.country, at: claim.purchasedAt })
  const now = await nowOf(tx, environment)
  await refold(tx, environment, [...new Set([...parties, ...told])].sort(), purchases => said(purchases, written, now))
  return getPurchase(tx, environment, user, known?.id ?? written[0]!.id)
}
