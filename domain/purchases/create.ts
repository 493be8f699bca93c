import type { Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import { updateTraitsByPurchase } from '../events/write-users.ts'
import type { Environment } from '../kernel/environment.ts'
import { lockUsers, requireUser } from '../users/user.ts'
import { requestAcknowledgements } from './acknowledgement.ts'
import { acceptedConfirmation, ClaimRefusal, withStoreWord } from './attempts/reason.ts'
import type { PurchaseInput } from './claim.ts'
import { claimedGroup, confirmedPeriod, findStated, statementsOfClaim, withSigned } from './confirmed-claim.ts'
import { claimLineage, hasShare, type Ownership, resolveOwner } from './lineage.ts'
import { findRecorded, lockClaimedLineage, type RecordedTransaction, transactionIdOf } from './locate.ts'
import { type LockedReports, lockReports, ownerOf, postedUsersOf, transactionsOfReport } from './locked-reports.ts'
import { getPurchase } from './read.ts'
import { insertPurchase } from './record.ts'
import { refold } from './refold.ts'
import { followLineage } from './store-inbox/follow.ts'
import { type PurchaseRow, TARGET_PLATFORM } from './subscriptions/purchase.ts'
import { type Claim, validatePurchase } from './validate.ts'
import type { Confirmation, Evidence } from './verification.ts'
import { writeReports } from './write-reports.ts'

/** A concurrent request has recorded the transaction in a lineage of another name. The repeated request finds it there. */
export const isTransactionConflict = (error: unknown): boolean => isUniqueViolation(error, 'purchases_by_transaction')

/** The answer of the store is about the lineage, and has nothing of the claimed transaction. */
const notStated = () =>
  new ClaimRefusal('purchase_fraud', 'claim_differs', 'the store does not confirm the purchase: its answer does not have the transaction')

/** The lineage of a claim, locked: what the store reports of it and of others, and the recorded purchase of the claimed transaction. */
type Located = { group: LockedReports; others: LockedReports[]; known: Omit<RecordedTransaction, 'lineage'> | undefined }

async function locateConfirmed(tx: Tx, environment: Environment, claim: Claim, confirmation: Confirmation): Promise<Located> {
  const period = confirmedPeriod(confirmation)
  const groups = await lockReports(tx, environment, confirmation.reports)
  const group = claimedGroup(groups, confirmation)
  if (!group || !period) throw notStated()
  const ids = { transaction: period.ids.transaction ?? claim.transaction, order: period.ids.order ?? claim.order }
  const stated = { ...claim, ...ids, product: period.product ?? claim.product, purchasedAt: period.begins ?? claim.purchasedAt }
  const known =
    (await findStated(tx, group, confirmation.subject, period.ids.lineItem)) ?? (await findRecorded(tx, environment, stated, group.lineage))
  return { group, others: groups.filter(other => other !== group), known }
}

async function locateClaimed(tx: Tx, environment: Environment, claim: Claim): Promise<Located> {
  const { lineage, known } = await lockClaimedLineage(tx, environment, claim)
  return { group: { platform: claim.platform, reports: [], lineage, younger: [], isConflict: false }, others: [], known }
}

/**
 * Writes the purchase and returns its id. The statements of the store are kept beside those of the caller, which count where the store
 * states nothing.
 */
async function write(
  tx: Tx,
  environment: Environment,
  claim: Claim,
  { group, others, known }: Located,
  { owner }: Ownership,
  evidence: Extract<Evidence, { is: 'confirmed' }> | null,
): Promise<string | undefined> {
  const subject = evidence?.subject ?? known?.subject ?? null
  if (subject === null) return known?.id ?? insertPurchase(tx, environment, claim, group.lineage, owner)
  const writing = { isConnected: evidence?.isConnected ?? false, owner, triggers: claim.triggers }
  for (const other of others) await writeReports(tx, environment, other, writing)
  const { rows } = await tx.query<{ now: number }>('select (extract(epoch from clock_timestamp()) * 1000)::bigint as now')
  const claimed = { subject, statements: statementsOfClaim(claim, subject, rows[0]!.now), screen: claim.screen }
  return (await writeReports(tx, environment, group, { ...writing, claimed })).purchases.get(subject)
}

/** `former`: the purchase as it was shown to the user who had it before a transfer. */
export type CreatedPurchase = { purchase: PurchaseRow; former: PurchaseRow | null }

/**
 * Records a purchase as the store confirms it, or as the caller states it when no confirmation is required; then updates everything that is
 * derived from it. Throws in this order: `invalid_data`, `invalid_product_id` or `product_not_in_project`; `not_found` for the user;
 * `already_exists` when the user has the transaction; `conflict` when another user has it and the transfer policy is `keep`;
 * `purchase_fraud` or `network_error` by the evidence. `takesUnlinked`: what the store confirms is recorded also while no product links its
 * product. `takesUnpriced`: price and currency may be missing; where the store states none either, the price is 0.
 */
export async function createPurchase(
  tx: Tx,
  environment: Environment,
  user: string,
  input: PurchaseInput,
  evidence: Evidence,
  { takesUnlinked = false, takesUnpriced = false } = {},
): Promise<CreatedPurchase> {
  const isSigned = input.app_store_data?.signed_transaction !== undefined
  const complete = isSigned && evidence.is === 'confirmed' ? withSigned(input, evidence) : input
  const word = takesUnlinked && evidence.is === 'confirmed' ? confirmedPeriod(evidence) : undefined
  const claim = await validatePurchase(tx, environment, complete, { unlinked: word, takesUnpriced }).catch(error => {
    throw withStoreWord(error, evidence)
  })
  await requireUser(tx, environment, user)
  if (claim === null) {
    acceptedConfirmation(evidence)
    throw new ClaimRefusal(
      'purchase_fraud',
      'claim_differs',
      'the store does not confirm the purchase: what is signed names no transaction or product',
    )
  }
  const located = await (evidence.is === 'confirmed'
    ? locateConfirmed(tx, environment, claim, evidence)
    : locateClaimed(tx, environment, claim))
  const { group, others, known } = located
  const { lineage } = group
  if (known && (known.user_id === user || (await hasShare(tx, environment, lineage.id, user))))
    throw new ClaimRefusal('already_exists', 'already_recorded', 'the transaction is recorded already')
  if (group.isConflict && known && known.user_id !== ownerOf(group))
    throw new ClaimRefusal('conflict', 'belongs_to_other_user', 'the transaction belongs to another user')
  const transferred = [lineage, ...group.younger].some(one => one.transferred)
  const ownership = await resolveOwner(tx, environment, { user_id: ownerOf(group), transferred }, user)
  const { owner, former, by } = ownership
  const confirmation = acceptedConfirmation(evidence)
  const transactions = [group, ...others].flatMap(({ reports }) => reports.flatMap(transactionsOfReport))
  const claimed = transactionIdOf(claim) ?? []
  const posted = await postedUsersOf(tx, environment, claim.platform, [...new Set(transactions.concat(claimed))])
  const owners = [owner, former, ...others.map(ownerOf)].filter(one => one !== null)
  // Lock the claiming user too, even if a share changes no facts of this user: a concurrent erasure would otherwise miss the share.
  await lockUsers(tx, environment, [user, ...owners], posted)
  const before = former !== null && known ? await getPurchase(tx, environment, former, known.id) : null
  const id = await write(tx, environment, claim, located, ownership, confirmation)
  if (id === undefined) throw notStated()
  await claimLineage(tx, environment, lineage, user, by)
  if (confirmation?.isConnected) {
    await followLineage(tx, environment, lineage.id)
    if (claim.platform === 'play_store') await requestAcknowledgements(tx, environment, [lineage.id])
  }
  await updateTraitsByPurchase(tx, environment, owner, {
    platform: TARGET_PLATFORM[claim.platform],
    country: claim.country,
    at: claim.purchasedAt,
  })
  await refold(tx, environment, [...new Set([...owners, ...posted])].sort(), claim.triggers ? { id, user } : undefined)
  return { purchase: await getPurchase(tx, environment, user, id), former: before }
}
