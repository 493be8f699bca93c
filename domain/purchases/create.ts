import type { Tx } from '../../store/connect.ts'
import { type Environment, now as nowOf } from '../environment.ts'
import { refold } from '../subscriptions/refold.ts'
import { lockUsers, requireUser } from '../users/lock.ts'
import { noteSeen } from '../users/note-seen.ts'
import { canceled, changed } from './changes.ts'
import type { PurchaseInput } from './claim.ts'
import { getPurchase } from './find.ts'
import { type Claim, judgePurchase } from './judge.ts'
import { claimLineage, hasShare, type Lineage, lockLineage } from './lineage.ts'
import { type PurchaseRow, TARGET_PLATFORM } from './purchase.ts'
import { confirmPurchase, findTransaction, insertPurchase, taken } from './record.ts'
import { admit, type Evidence, type StorePeriod } from './verification.ts'

const FACTLESS = { billing_retry_at: null, grace_period_expires_at: null, refunded_at: null, refunded_amount: null }

/** What was recorded: `before` null for a new row. */
type Recorded = { id: string; before: PurchaseRow | null }

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

async function recordConfirmed(
  tx: Tx,
  environment: Environment,
  claim: Claim,
  lineage: Lineage,
  owner: string,
  period: StorePeriod,
): Promise<Recorded> {
  const confirmed = asConfirmed(claim, period)
  const known = await findTransaction(tx, environment, confirmed, lineage)
  if (known) return { id: known.id, before: await confirmPurchase(tx, environment, known.id, period) }
  return { id: await insertPurchase(tx, environment, confirmed, lineage, owner, period), before: null }
}

/** The events that the recorded facts say by themselves, beside those that follow from them. */
function said(purchases: PurchaseRow[], recorded: Recorded[], now: string) {
  return recorded.flatMap(({ id, before }) => {
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
  const claim = await judgePurchase(tx, environment, input)
  await requireUser(tx, environment, user)
  const lineage = await lockLineage(tx, environment, claim.platform, claim.lineage)
  const known = await findTransaction(tx, environment, claim, lineage)
  if (known && (known.user_id === user || (await hasShare(tx, environment, lineage.id, user)))) throw taken()
  const { owner, former } = await claimLineage(tx, environment, lineage, user)
  const periods = admit(evidence)
  const users = [...new Set([owner, ...(former === null ? [] : [former])])].sort()
  await lockUsers(tx, environment, users)
  const recorded: Recorded[] = []
  for (const period of periods ?? []) recorded.push(await recordConfirmed(tx, environment, claim, lineage, owner, period))
  if (periods === null && !known) recorded.push({ id: await insertPurchase(tx, environment, claim, lineage, owner, null), before: null })
  await noteSeen(tx, environment, owner, { platform: TARGET_PLATFORM[claim.platform], country: claim.country, at: claim.purchasedAt })
  const now = await nowOf(tx, environment)
  await refold(tx, environment, users, purchases => said(purchases, recorded, now))
  return getPurchase(tx, environment, user, recorded[0]?.id ?? known!.id)
}
