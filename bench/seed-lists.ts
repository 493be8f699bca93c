import type { Pool } from '../store/connect.ts'
import { say, thousands } from './report.ts'

const SLICE = 100_000

/** Runs the insert slice by slice ($1 the environment, $2 to $3 the numbers of its rows), then vacuums and analyses the table. */
async function fill(pool: Pool, table: string, rows: number, environment: number, insert: string): Promise<void> {
  say(`seeding ${thousands(rows)} ${table}`)
  // Row by row, maintaining the indexes costs more than the rows: drop them and build them at the end.
  const { rows: indexes } = await pool.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where schemaname = 'public' and tablename = $1 and indexname <> $1 || '_pkey'`,
    [table],
  )
  for (const { name } of indexes) await pool.query(`drop index ${name}`)
  for (let n = 0; n < rows; n += SLICE) await pool.query(insert, [environment, n, Math.min(n + SLICE, rows) - 1])
  for (const { definition } of indexes) await pool.query(definition)
  await pool.query(`vacuum (analyze) ${table}`)
  // The dirty pages of the seed must not be written during a measurement.
  await pool.query('checkpoint')
}

/** Fills the table of a list. */
export type Seed = (pool: Pool, environment: number, rows: number) => Promise<void>

/** Users, created over 300 days; a quarter of them has paid. */
export const seedCustomers: Seed = (pool, environment, rows) =>
  fill(
    pool,
    'users',
    rows,
    environment,
    `insert into users (environment, id, created_at, last_seen_at, identity_id, properties, platform, device_id, device_model, os_version,
       country, app_version, status, first_transaction_at, last_payment_at, payments_count, converted_payments, purchase_currency,
       purchase_product_id, gross_payments_usd, net_payments_usd)
     select $1, 'QON_' || md5(n::text), t, t + interval '3 days', case when n % 2 = 0 then 'customer-' || n end,
       case when n % 3 = 0 then jsonb_build_object('_q_email', 'person' || n || '@example.com') else '{}' end,
       case when n % 3 = 0 then 'Android' else 'iOS' end, md5('d' || n), 'iPhone17,' || n % 5, '19.' || n % 4,
       (array['US', 'DE', 'JP', 'BR'])[n % 4 + 1], '4.' || n % 30,
       case when paid then (array['active', 'canceled', 'churned', 'billing_retry'])[n / 4 % 4 + 1] when n % 4 = 1 then 'trial' else 'none' end,
       case when n % 4 < 2 then t end, case when paid then t + interval '1 day' end, case when paid then count else 0 end,
       case when paid then count else 0 end, case when paid then (array['USD', 'EUR', 'JPY'])[n % 3 + 1] end,
       case when paid then 'com.example.' || n % 7 end, case when paid then count * 9.99 else 0 end, case when paid then count * 9.99 - n % 5 else 0 end
     from (select n, n % 4 = 0 as paid, n % 11 + 1 as count,
         clock_timestamp() - interval '300 days' + (n * 7919 % 25920000) * interval '1 second' as t
       from generate_series($2::bigint, $3::bigint) n) generated`,
  )

export const seedProducts: Seed = (pool, environment, rows) =>
  fill(
    pool,
    'products',
    rows,
    environment,
    `insert into products (environment, id, type, duration, apple_product_id, created_at, updated_at)
     select $1, 'product-' || n, 'subscription', 'P1M', 'com.example.' || n, t, t
     from (select n, clock_timestamp() - n % 25920000 * interval '1 second' as t from generate_series($2::bigint, $3::bigint) n) generated`,
  )

export const seedSegments: Seed = (pool, environment, rows) =>
  fill(
    pool,
    'segments',
    rows,
    environment,
    `insert into segments (environment, id, name, conditions, created_at, updated_at)
     select $1, 'seg_' || md5(n::text), 'Segment ' || n, '[]', t, t
     from (select n, clock_timestamp() - n % 25920000 * interval '1 second' as t from generate_series($2::bigint, $3::bigint) n) generated`,
  )
