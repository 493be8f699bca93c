import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventInput } from '../../domain/events/item.ts'
import { appendBatch } from '../../domain/ingestion/append.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { createPurchase } from '../../domain/purchases/create.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { APP_SECRET, newProject } from '../harness/api.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { item } from '../harness/events.ts'

// A first import runs before the tables have statistics: recording a purchase of one user must not read the rows of all users.
const USERS = 20_000
const FILL = `
with people as (
  insert into users (environment, id, created_at, last_seen_at) select $1, 'u' || n, now(), now() from generate_series(1, ${USERS}) n returning id
), theirs as (
  insert into lineages (environment, platform, lineage, user_id) select $1, 'app_store', id, id from people returning id, user_id
), bought as (
  insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price, amount,
    purchased_at, expires_at, auto_renewing, created_at)
  select $1, id, user_id, 'app_store', 'm', user_id, true, 'USD', '1', 1, now() - interval '9 days', now() + interval '9 days', true, now() from theirs
)
insert into events (environment, partition, log_offset, received_at, triggers, id, event_id, name, user_id, happened_at, platform, transaction_id)
select $1, 0, 1000000 + row_number() over (), now(), true, 'evt_' || id, id, 'subscription_renewed', id, now(), 'iOS', 'posted-' || id from people`

let database: FreshDatabase
let pool: Pool
let environment: number
beforeAll(async () => {
  database = await freshDatabase()
  pool = connect({ url: database.url, max: 1 })
  for (const table of ['users', 'purchases', 'events']) await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
  environment = (await newProject(pool, secretsFrom(APP_SECRET))).production
  await pool.query(FILL, [environment])
  await pool.query(
    `insert into products (environment, id, type, duration, apple_product_id, created_at, updated_at)
     values ($1, 'monthly', 'subscription', 'P1M', 'm', now(), now())`,
    [environment],
  )
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function reads(work: () => Promise<unknown>): Promise<number> {
  const sum = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ n: number }>(
      `select sum(idx_tup_read)::bigint as n from pg_stat_user_indexes where relname in ('users', 'purchases', 'events')`,
    )
    return rows[0]!.n
  }
  const before = await sum()
  await work()
  return (await sum()) - before
}

test('a renewal and a posted fact read only the rows of their user', async () => {
  const renewal = {
    currency: 'USD',
    price: '1',
    purchased_at: new Date().toISOString(),
    app_store_data: { transaction_id: 'next', original_transaction_id: 'u77', product_id: 'm' },
  }
  const record = () => transaction(pool, tx => createPurchase(tx, environment, 'u77', renewal, { is: 'accepted' }))
  expect(await reads(record)).toBeLessThan(500)
  const transaction_id = 'posted-u78'
  const refund = item({ customer_uid: 'u78', event_name: 'subscription_refunded', platform: 'iOS', transaction: { transaction_id } })
  expect(await reads(() => appendBatch(pool, environment, [refund as EventInput], true))).toBeLessThan(500)
})
