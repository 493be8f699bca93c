import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { PURCHASE_COLUMNS, type PurchaseRow } from '../subscriptions/purchase.ts'
import type { Lineage } from './lineage.ts'
import type { Claim } from './validate.ts'
import type { StorePeriod } from './verification.ts'

/** Inserts the purchase and returns its id. `confirmed`: the period as the store reports it; the purchase is then verified. */
export async function insertPurchase(
  tx: Tx,
  environment: Environment,
  claim: Claim,
  lineage: Lineage,
  owner: string,
  confirmed: StorePeriod | null,
): Promise<string> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'record-purchase',
    text: `insert into purchases (environment, lineage, user_id, platform, store_product_id, base_plan_id, transaction_id,
               original_transaction_id, purchase_token, order_id, subscription_id, store_type, is_subscription, currency, price, amount,
               purchased_at, expires_at, period_type, auto_renewing, auto_renew_off_at, auto_renew_changes, is_family_shared, country, screen_id,
               created_at, verified_at, never_renews, billing_retry_at, grace_period_expires_at, refunded_at, refunded_amount, triggers,
               known_country, known_app_version, known_locale)
             select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::text, $15::text::numeric, $16::timestamptz, $17, $18, $19::boolean,
               case when $13::boolean and not $19::boolean then $16::timestamptz end,
               case when $13::boolean and not $19::boolean then array[extract(epoch from $16::timestamptz)::bigint] else '{}' end, $20, $21, $22, t,
               case when $23::boolean then t end, $24, $25, $26, $27, $28, $29, u.country, u.app_version, u.locale
             from environment_now($1) t left join lateral (
               select country, app_version, locale from users where environment = $1 and id = $3 limit 1) u on true returning id::text`,
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
      confirmed !== null,
      confirmed?.neverRenews ?? false,
      confirmed?.billingRetryAt ?? null,
      confirmed?.graceUntil ?? null,
      confirmed?.refundedAt ?? null,
      confirmed?.refundedAmount ?? null,
      claim.triggers,
    ],
  })
  return rows[0]!.id
}

/** Locks a purchase of the environment. Undefined when there is none with the id. */
export async function lockPurchase(tx: Tx, environment: Environment, id: string): Promise<PurchaseRow | undefined> {
  const { rows } = await tx.query<PurchaseRow>(
    `select ${PURCHASE_COLUMNS} from purchases p join lineages l on l.id = p.lineage where p.environment = $1 and p.id = $2 for no key update of p`,
    [environment, id],
  )
  return rows[0]
}

/** Overwrites the purchase with the period that the store reports. The caller has locked the lineage. */
export async function confirmPurchase(tx: Tx, environment: Environment, id: string, period: StorePeriod): Promise<void> {
  await tx.query({
    name: 'confirm-purchase',
    text: `update purchases set currency = $2, price = $3::text, amount = $3::text::numeric, purchased_at = $4, expires_at = $5, period_type = $6,
             auto_renewing = $7, auto_renew_off_at = case when $7 then null else coalesce(auto_renew_off_at, environment_now($8)) end,
             never_renews = $9, billing_retry_at = $10, grace_period_expires_at = $11, refunded_at = $12, refunded_amount = $13,
             verified_at = environment_now($8), updated_at = environment_now($8), emitted = case when $7 then array_remove(emitted, 'canceled') else emitted end
           where id = $1`,
    values: [
      id,
      period.currency,
      period.price,
      period.purchasedAt,
      period.expiresAt,
      period.periodType,
      period.autoRenewing,
      environment,
      period.neverRenews,
      period.billingRetryAt,
      period.graceUntil,
      period.refundedAt,
      period.refundedAmount,
    ],
  })
}
