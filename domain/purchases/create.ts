import type { Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import type { Environment } from '../environment.ts'
import { alreadyExists, Refusal } from '../refusal.ts'
import { refold } from '../subscriptions/refold.ts'
import { lockUsers, requireUser } from '../users/lock.ts'
import { noteSeen } from '../users/note-seen.ts'
import { canceled } from './changes.ts'
import type { PurchaseInput } from './claim.ts'
import { getPurchase } from './find.ts'
import { type Claim, judgePurchase } from './judge.ts'
import { claimLineage, hasShare, judgeLineage, type Lineage } from './lineage.ts'
import { locate, postedFor } from './locate.ts'
import { type PurchaseRow, type Store, TARGET_PLATFORM } from './purchase.ts'

async function insert(tx: Tx, environment: Environment, claim: Claim, lineage: Lineage, owner: string): Promise<string> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'record-purchase',
    text: `insert into purchases (environment, lineage, user_id, platform, store_product_id, base_plan_id, transaction_id,
               original_transaction_id, purchase_token, order_id, subscription_id, store_type, is_subscription, currency, price, amount,
               purchased_at, expires_at, period_type, auto_renewing, auto_renew_off_at, is_family_shared, country, screen_id, created_at)
             select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::text, $15::text::numeric, $16::timestamptz, $17, $18, $19::boolean,
               case when $13::boolean and not $19::boolean then $16::timestamptz end, $20, $21, $22, t from environment_now($1) t returning id::text`,
    values: [
      environment,
      lineage.id,
      owner,
      claim.platform,
      claim.product,
      claim.basePlan,
      claim.transaction,
      claim.originalTransaction,
      claim.token,
      claim.order,
      claim.subscription,
      claim.storeType,
      claim.isSubscription,
      claim.currency,
      claim.price,
      claim.purchasedAt,
      claim.expiresAt,
      claim.periodType,
      claim.autoRenewing,
      claim.familyShared,
      claim.country,
      claim.screen,
    ],
  })
  return rows[0]!.id
}

/** Recorded meanwhile in a lineage of another name: the repeat finds it. */
export const isTransactionConflict = (error: unknown): boolean => isUniqueViolation(error, 'purchases_by_transaction')

const taken = () => alreadyExists('the transaction is recorded already')

/**
 * Records a purchase on the caller's word, with all that follows from it. Throws in this order: `invalid_data`,
 * `invalid_product_id` or `product_not_in_project`; `not_found` for the user; `already_exists` when the user has the transaction;
 * `conflict` when it is another user's and the transfer policy keeps it there; what `admit` throws when nobody's word suffices.
 */
export async function createPurchase(
  tx: Tx,
  environment: Environment,
  user: string,
  input: PurchaseInput,
  admit: (platform: Store) => Promise<void>,
): Promise<PurchaseRow> {
  const claim = await judgePurchase(tx, environment, input)
  await requireUser(tx, environment, user)
  // Nothing here can check the signature, so nobody confirms what it says.
  if (claim === null) throw new Refusal('purchase_fraud', 'the signed transaction is not confirmed by a known certificate of the store')
  const { lineage, known } = await locate(tx, environment, claim)
  if (known && (known.user_id === user || (await hasShare(tx, environment, lineage.id, user)))) throw taken()
  const { owner, former, by } = await judgeLineage(tx, environment, lineage, user)
  await admit(claim.platform)
  const told = await postedFor(tx, environment, claim)
  const parties = [owner, ...(former === null ? [] : [former])]
  // The asking one too, whose facts a shared lineage does not change: an erasure would leave the share behind.
  await lockUsers(tx, environment, [user, ...parties], told)
  await claimLineage(tx, environment, lineage, user, by)
  const id = known?.id ?? (await insert(tx, environment, claim, lineage, owner))
  await noteSeen(tx, environment, owner, {
    platform: TARGET_PLATFORM[claim.platform],
    country: claim.country,
    at: claim.purchasedAt,
  })
  await refold(tx, environment, [...new Set([...parties, ...told])].sort(), purchases => (known ? [] : canceled(purchases, id)))
  return getPurchase(tx, environment, user, id)
}
