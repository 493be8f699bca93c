// A statement that is planned once keeps the plan of the time when its tables were empty, or had their first rows, until they are analyzed.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
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

  // Not `users`: Postgres checks foreign keys by statements of its own, which read them.
  const TABLES = ['stale_users', 'user_facts', 'transaction_facts', 'subscription_changes', 'events', 'purchases', 'subscriptions']

  let sold = 0
  /** `count` sales to as many new users. */
  async function sell(count: number): Promise<void> {
    const sale = (n: number) => ({
      event_name: 'subscription_started',
      event_id: String(n),
      happened_at: '2026-03-01T00:00:00Z',
      identity_id: `person-${n}`,
      platform: 'iOS',
      price: '5',
      currency: 'EUR',
      transaction: { transaction_id: `t-${n}`, expires_at: '2026-04-01T00:00:00Z' },
    })
    for (const end = sold + count; sold < end; ) {
      const events = Array.from({ length: Math.min(500, end - sold) }, () => sale(sold++))
      const { status, text } = await api.call('POST', '/v4/events', { key: api.project.secret, body: { events } })
      expect(status, text).toBeLessThan(300)
    }
  }

  /** Purchases of another user. */
  async function recordPurchases(count: number): Promise<void> {
    await api.pool.query(
      `with l as (insert into lineages (environment, platform, lineage, user_id)
       select environment, 'app_store', 'other', id from users where identity_id = 'person-0' returning id, environment, user_id)
     insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price, amount,
       auto_renewing, purchased_at, created_at, run_started_at)
     select l.environment, l.id, l.user_id, 'app_store', 'p', 'other-' || n, false, 'USD', '1', 1, false, t, t, t
     from l, generate_series(1, $1) n, clock_timestamp() t`,
      [count],
    )
  }

  /** A connection as the workers have them. */
  function worker(): Pool {
    const pool = connect({ url: api.databaseUrl, max: 1, planOnce: true, pipelined: true })
    connected.push(pool)
    return pool
  }
  const fold = (pool: Pool, users: number) => drainMarks(pool, api.project.production, users)

  /** Rows of each table that are read to fold ten users. */
  async function readForTen(pool: Pool): Promise<[string, number][]> {
    const before = await rowsRead([pool], TABLES)
    await fold(pool, 10)
    const after = await rowsRead([pool], TABLES)
    return TABLES.map(table => [table, after[table]! - before[table]!])
  }

  // While another transaction on this server is older, the marks of the 401 users that are folded before are read, too, four times. A plan that reads
  // all marks reads 2,980 more.
  const most = (table: string) => (table === 'stale_users' ? 2_400 : 200)

  test('a fold reads the facts and the marks of its users alone', async () => {
    for (const table of TABLES) await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    const [early, later] = [worker(), worker()]
    await sell(1)
    await fold(early, 1)
    await sell(2_000)
    await fold(later, 400)
    await recordPurchases(300)
    await sell(1_400)
    const few = TABLES.map(table => [table, expect.toSatisfy(n => n <= most(table))])
    for (const pool of [early, later]) expect(await readForTen(pool)).toEqual(few)
  })
})
