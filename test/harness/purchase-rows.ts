import type { Pool } from '../../store/connect.ts'

export type RecordedPurchase = {
  at: string
  amount?: number
  currency?: string
  platform?: string
  /** false: a one-time purchase. */
  subscription?: boolean
  /** The first period of the run; by default the time of the purchase. */
  run?: string
  until?: string
  auto_renewing?: boolean
  refunded_at?: string
  refunded_amount?: number
  is_family_shared?: boolean
}

/** Inserts transactions of one user and one lineage, as the product records them. */
export async function recordPurchases(pool: Pool, environment: number, user: string, rows: RecordedPurchase[]): Promise<void> {
  const lineage = await pool.query(
    `insert into lineages (environment, platform, lineage, user_id) values ($1, 'app_store', gen_random_uuid()::text, $2) returning id`,
    [environment, user],
  )
  for (const row of rows)
    await pool.query(
      `insert into purchases (environment, lineage, user_id, platform, store_product_id, is_subscription, currency, price, amount,
         purchased_at, expires_at, auto_renewing, refunded_at, refunded_amount, is_family_shared, created_at, run_started_at)
       values ($1, $2, $3, $4, 'p', $5, $6, $7::text, $7::text::numeric, $8, $9, $10, $11, $12, $13, $8, $14)`,
      [
        environment,
        lineage.rows[0].id,
        user,
        row.platform ?? 'stripe',
        row.subscription ?? true,
        row.currency ?? 'USD',
        String(row.amount ?? 0),
        row.at,
        row.until ?? null,
        row.auto_renewing ?? true,
        row.refunded_at ?? null,
        row.refunded_amount ?? null,
        row.is_family_shared ?? false,
        row.run ?? row.at,
      ],
    )
  await pool.query(
    'insert into stale_users (environment, user_no) select environment, no from users where id = $1 on conflict do nothing',
    [user],
  )
}
