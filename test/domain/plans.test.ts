import { afterAll, beforeAll, expect, test } from 'vitest'
import { appendBatch } from '../../domain/events/append.ts'
import type { EventInput } from '../../domain/events/item.ts'
import { listEvents } from '../../domain/events/list.ts'
import { createProject } from '../../domain/projects/create.ts'
import { secretsFrom } from '../../domain/projects/seal.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { APP_SECRET } from '../harness/api.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { item } from '../harness/events.ts'

// A statement is planned a few times and then keeps its plan. A service that answers its first requests on empty tables must not
// answer by reading everything once they are full.
let database: FreshDatabase
let pool: Pool
let listing: Pool
let environment: number
beforeAll(async () => {
  database = await freshDatabase()
  await database.pool.query('alter table events set (autovacuum_enabled = false)')
  await database.pool.query('alter table users set (autovacuum_enabled = false)')
  // One connection each, so that the plans made here are the plans used later.
  pool = connect({ url: database.url, max: 1 })
  listing = connect({ url: database.url, max: 1, plansOnce: true })
  const project = await transaction(pool, tx => createProject(tx, secretsFrom(APP_SECRET), { name: 'Plans' }))
  environment = (await pool.query('select min(id) as id from environments where project = $1', [project.id])).rows[0].id
})
afterAll(async () => {
  await pool.end()
  await listing.end()
  await database.drop()
})

const batch = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    item({ identity_id: `u${i}`, platform: 'iOS', transaction: { transaction_id: `${i}-${Math.random()}` } }),
  ) as EventInput[]

/** Rows and index entries of a table that were read so far. */
async function read(table: string): Promise<number> {
  for (const connection of [pool, listing]) await connection.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ n: number }>(
    `select t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0)::bigint as n from pg_stat_user_tables t
     join pg_stat_user_indexes i using (relid) where t.relname = $1 group by t.seq_tup_read`,
    [table],
  )
  return rows[0]!.n
}

test('statements planned on empty tables read no more than they need when the tables are full', async () => {
  const page = (order: 'asc' | 'desc') => listEvents(listing, environment, { limit: 20, offset: 0, order })
  for (let i = 0; i < 8; i++) {
    await page('asc')
    await page('desc')
    await appendBatch(pool, environment, batch(1), true)
  }
  for (let i = 0; i < 6; i++) await appendBatch(pool, environment, batch(1000), true)

  const before = { events: await read('events'), users: await read('users') }
  await page('asc')
  await page('desc')
  const listed = { events: await read('events'), users: await read('users') }
  expect(listed.events - before.events).toBeLessThan(200)
  await appendBatch(pool, environment, batch(50), true)
  const appended = { events: await read('events'), users: await read('users') }
  expect(appended.events - listed.events).toBeLessThan(500)
  expect(appended.users - listed.users).toBeLessThan(1000)
})
