import { afterAll, beforeAll, expect, test } from 'vitest'
import { viewCustomer } from '../../domain/audience/customers/customer.ts'
import { listCustomers } from '../../domain/audience/customers/list.ts'
import { customerMetrics } from '../../domain/audience/customers/metrics.ts'
import { type Direction, SORTS, type SortBy } from '../../domain/audience/customers/order.ts'
import type { CustomerSelection } from '../../domain/audience/customers/selection.ts'
import type { EventInput } from '../../domain/events/item.ts'
import { listEvents } from '../../domain/events/list.ts'
import { appendBatch } from '../../domain/ingestion/append.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { APP_SECRET, newProject } from '../harness/api.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { item } from '../harness/events.ts'
import { rowsRead } from '../harness/rows-read.ts'

// A statement is planned a few times and then keeps its plan. A plan from the first requests, on empty tables, must not read whole tables
// once they are full.
let database: FreshDatabase
let pool: Pool
let listing: Pool
let environment: number
beforeAll(async () => {
  database = await freshDatabase()
  await database.pool.query('alter table events set (autovacuum_enabled = false)')
  await database.pool.query('alter table users set (autovacuum_enabled = false)')
  // One connection each, so that later statements use the plans of this one.
  pool = connect({ url: database.url, max: 1 })
  listing = connect({ url: database.url, max: 1, planOnce: true })
  environment = (await newProject(pool, secretsFrom(APP_SECRET))).production
  // Almost empty: a cursor must refer to a user.
  await pool.query(
    `insert into users (environment, id, created_at, last_seen_at, payments_count, last_payment_at, purchase_currency, purchase_product_id,
       net_payments_usd)
     values ($1, 'rich', now(), now(), 1, now(), 'EUR', 'p', 1), ($1, 'poor', now(), now(), 0, null, null, null, 0)`,
    [environment],
  )
  for (const [sort, direction] of orders)
    for (const after of [undefined, 'rich', 'poor']) for (let i = 0; i < 8; i++) await customers(sort, direction, {}, after)
})
afterAll(async () => {
  await pool.end()
  await listing.end()
  await database.drop()
})

const ALL_USERS: CustomerSelection = { search: undefined, statuses: undefined, platforms: undefined }
const orders = (Object.keys(SORTS) as SortBy[]).flatMap(sort => [[sort, 'asc'] as const, [sort, 'desc'] as const])
const customers = (sort: SortBy, direction: Direction, selection: Partial<CustomerSelection> = {}, after?: string) =>
  listCustomers({ db: pool, listing }, environment, { ...ALL_USERS, ...selection }, { sort, direction, limit: 20, offset: 0, after })

/** Enough for a page and the dead row versions that the scan meets; there are 31,000 users. */
const FEW = 500

const batch = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    item({ identity_id: `u${i}`, platform: 'iOS', transaction: { transaction_id: `${i}-${Math.random()}` } }),
  ) as EventInput[]

const read = async (table: string): Promise<number> => (await rowsRead([pool, listing], [table]))[table]!

test('statements planned on empty tables read only the rows they need when the tables are full', async () => {
  const page = (order: 'asc' | 'desc') => listEvents(listing, environment, { limit: 20, offset: 0, order })
  for (let i = 0; i < 8; i++) {
    await page('asc')
    await page('desc')
    await appendBatch(pool, environment, batch(1), true)
  }
  const empty = await read('events')
  for (let i = 0; i < 2; i++) await appendBatch(pool, environment, batch(1000), true)
  expect((await read('events')) - empty, 'events read for the first two batches').toBeLessThan(10_000)

  const before = { events: await read('events'), users: await read('users') }
  await page('asc')
  await page('desc')
  const listed = { events: await read('events'), users: await read('users') }
  expect(listed.events - before.events).toBeLessThan(200)
  await appendBatch(pool, environment, batch(50), true)
  const appended = { events: await read('events'), users: await read('users') }
  expect(appended.events - listed.events).toBeLessThan(500)
  // Every batch updates each of the 50 twice, without vacuum; the whole environment has a thousand users, in several row versions.
  expect(appended.users - listed.users, 'users read').toBeLessThan(2000)
})

test('a page of customers reads only its own rows, in every order and from every cursor; a search only the rows it finds', async () => {
  await pool.query(
    `insert into users (environment, id, created_at, last_seen_at, properties, status, last_payment_at, payments_count, purchase_currency,
       purchase_product_id, net_payments_usd)
     select $1, 'QON_' || md5(n::text), t, t, jsonb_build_object('_q_email', 'p' || n || '@example.org'),
       case when n % 5 > 0 then 'none' when n % 100 = 0 then 'billing_retry' else 'active' end,
       case when n % 5 = 0 then t end, case when n % 5 = 0 then 1 + n % 3 else 0 end, case when n % 5 = 0 then 'USD' end,
       case when n % 35 = 0 then '' when n % 5 = 0 then 'p' || n % 7 end, case when n % 5 = 0 then n % 9 - 4 else 0 end
     from (select n, now() - n * interval '1 second' as t from generate_series(1, 30000) n) drawn`,
    [environment],
  )
  const cost = async (work: () => Promise<unknown>, table = 'users') => {
    const before = await read(table)
    await work()
    return (await read(table)) - before
  }
  const ids = await pool.query<{ id: string }>(`select 'QON_' || md5(n::text) as id from unnest($1::int[]) n`, [
    [15_000, 15_001, 15_005, 15_015],
  ])
  for (const [sort, direction] of orders)
    for (const after of [undefined, ...ids.rows.map(row => row.id)])
      expect(await cost(() => customers(sort, direction, {}, after)), `${sort} ${direction} after ${after}`).toBeLessThan(FEW)
  expect(await cost(() => customers('since', 'desc', { statuses: ['billing_retry'] }))).toBeLessThan(FEW)
  expect(await cost(() => customers('since', 'asc', { statuses: ['billing_retry', 'active'] }, ids.rows[0]!.id))).toBeLessThan(FEW)
  expect(await cost(() => customers('net_payments_usd', 'desc', { search: 'P1234' }))).toBeLessThan(FEW)
  expect(await cost(() => customers('since', 'desc', { search: '777' }))).toBeLessThan(FEW)
  expect(await cost(() => customerMetrics(pool, environment, { ...ALL_USERS, search: 'P1234' }))).toBeLessThan(FEW)
})

test('the view of a customer reads only the occurrences that it shows', async () => {
  await appendBatch(
    pool,
    environment,
    Array.from({ length: 900 }, (_, i) =>
      item({ identity_id: 'busy', happened_at: new Date(Date.UTC(2026, 0, 1) + i * 60_000).toISOString() }),
    ) as EventInput[],
    true,
  )
  const { rows } = await pool.query<{ id: string }>(`select id from users where environment = $1 and identity_id = 'busy'`, [environment])
  const before = await read('events')
  expect((await viewCustomer(pool, environment, rows[0]!.id)).events).toHaveLength(100)
  expect((await read('events')) - before).toBeLessThan(200)
})
