// What a user may use is read from the user's own purchases, in whatever state the table was when the connection planned the statement.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { userEntitlementsOf } from '../../domain/purchases/entitlements/user-entitlement.ts'
import { listPurchases } from '../../domain/purchases/read.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { SERVERS } from '../harness/database.ts'
import { rowsRead } from '../harness/rows-read.ts'

describe.each(SERVERS)('on the %s Postgres', server => {
  let api: TestApi
  const connected: Pool[] = []
  beforeAll(async () => {
    api = await startApi({ server })
  })
  afterAll(async () => {
    await Promise.all(connected.map(pool => pool.end()))
    await api.stop()
  })

  let made = 0
  /** Purchases of as many users. */
  async function buy(count: number): Promise<void> {
    await api.pool.query(
      `with u as (
         insert into users (environment, id, created_at, last_seen_at) select $1, 'user_' || n, t, t from generate_series($2::int, $3::int) n, clock_timestamp() t
         returning environment, id
       ), l as (
         insert into lineages (environment, platform, lineage, user_id) select environment, 'app_store', 'of ' || id, id from u returning id, user_id
       )
       insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price, amount,
         auto_renewing, purchased_at, created_at, run_started_at)
       select $1, l.id, l.user_id, 'app_store', 'p', 'of ' || l.user_id, false, 'USD', '1', 1, false, t, t, t from l, clock_timestamp() t`,
      [api.project.production, made, made + count - 1],
    )
    made += count
  }
  async function look(pool: Pool): Promise<void> {
    await userEntitlementsOf(pool, api.project.production, 'user_7')
    await listPurchases(pool, api.project.production, 'user_7', { limit: 20, after: undefined, platforms: [] })
  }

  // Without an analyze, which makes every connection plan anew.
  test('reads no purchase of another user', async () => {
    for (const table of ['users', 'lineages', 'purchases']) await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    const planned = new Map<number, Pool>()
    for (const size of [10, 100, 200, 300, 400]) {
      await buy(size - made)
      const pool = connect({ url: api.databaseUrl, max: 1, planOnce: true })
      connected.push(pool)
      await look(pool)
      planned.set(size, pool)
    }
    await buy(3_000)
    const read: [number, number][] = []
    for (const [size, pool] of planned) {
      const before = await rowsRead([pool], ['purchases'])
      await look(pool)
      const after = await rowsRead([pool], ['purchases'])
      read.push([size, after.purchases! - before.purchases!])
    }
    expect(read).toEqual([...planned.keys()].map(size => [size, expect.toSatisfy(n => n <= 20)]))
  })
})
