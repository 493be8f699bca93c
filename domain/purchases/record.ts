import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import type { Lineage } from './lineage.ts'
import { PURCHASE_COLUMNS, type PurchaseRow } from './subscriptions/purchase.ts'
import type { Claim } from './validate.ts'

/** Inserts the purchase as the caller states it, and returns its id. */
export async function insertPurchase(
  tx: Tx,
  environment: Environment,
  claim: Claim,
  lineage: Pick<Lineage, 'id'>,
  owner: string,
): Promise<string> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'record-purchase',
    text: `insert into purchases (environment, lineage, user_id, platform, store_product_id, base_plan_id, transaction_id,
               original_transaction_id, purchase_token, order_id, subscription_id, store_type, is_subscription, currency, price, amount,
               purchased_at, expires_at, period_type, auto_renewing, auto_renew_off_at, auto_renew_changes, is_family_shared, country, screen_id,
               created_at, triggers, known_country, known_app_version, known_locale, is_discounted)
             select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::text, $15::text::numeric, $16::timestamptz, $17, $18, $19::boolean,
               case when $13::boolean and not $19::boolean then $16::timestamptz end,
               case when $13::boolean and not $19::boolean then array[extract(epoch from $16::timestamptz)::bigint] else '{}' end, $20, $21, $22, t,
               $23, u.country, u.app_version, u.locale, $24
             from environment_now($1) t left join lateral (
               select country, app_version, locale from users where environment = $1 and id >= $3 and id <= $3 order by id limit 1) u on true returning id::text`,
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
      claim.triggers,
      claim.isDiscounted,
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

/** The purchases of a lineage, in the order of their periods. */
export async function purchasesOfLineage(tx: Tx, lineage: number): Promise<PurchaseRow[]> {
  const { rows } = await tx.query<PurchaseRow>({
    name: 'purchases-of-lineage',
    text: `select ${PURCHASE_COLUMNS} from purchases p join lineages l on l.id = p.lineage where p.lineage = $1 order by p.purchased_at, p.id`,
    values: [lineage],
  })
  return rows
}

/** The store's products of a lineage that no product links now, as the API shows them. */
export async function unmappedProducts(tx: Tx, lineage: number): Promise<string[]> {
  const { rows } = await tx.query<{ product: string }>({
    name: 'unmapped-products',
    text: `select concat_ws(':', store_product_id, base_plan_id) as product from (
             select distinct environment, platform, store_product_id, base_plan_id from purchases where lineage = $1) p
           where linked_product(environment, platform, store_product_id, base_plan_id) is null order by 1`,
    values: [lineage],
  })
  return rows.map(({ product }) => product)
}
