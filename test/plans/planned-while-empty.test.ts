// A statement that is planned once keeps the plan of the time when its tables were empty, until they are analyzed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../domain/folding/fold-batch.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { rowsRead } from '../harness/rows-read.ts'

let api: TestApi
let planned: Pool
beforeAll(async () => {
  api = await startApi()
  planned = connect({ url: api.databaseUrl, max: 1, planOnce: true, pipelined: true })
})
afterAll(async () => {
  await planned.end()
  await api.stop()
})

// Not `users`: Postgres checks foreign keys by statements of its own, which read them.
const TABLES = ['stale_users', 'user_facts', 'transaction_facts', 'subscription_changes']

/** `count` sales to as many new users. */
async function sell(count: number): Promise<void> {
  const sale = (n: number) => ({
    event_name: 'subscription_started',
    event_id: `${count}-${n}`,
    happened_at: '2026-03-01T00:00:00Z',
    identity_id: `person-${count}-${n}`,
    platform: 'iOS',
    price: '5',
    currency: 'EUR',
    transaction: { transaction_id: `t-${count}-${n}`, expires_at: '2026-04-01T00:00:00Z' },
  })
  for (let n = 0; n < count; n += 500) {
    const events = Array.from({ length: Math.min(500, count - n) }, (_, i) => sale(n + i))
    const { status, text } = await api.call('POST', '/v4/events', { key: api.project.secret, body: { events } })
    expect(status, text).toBeLessThan(300)
  }
}

const fold = () => drainMarks(planned, api.project.production, 10_000)
const read = async () => {
  const rows = await rowsRead([planned], TABLES)
  return TABLES.map(table => rows[table]!)
}

test('a fold reads the facts and the marks of its users alone', async () => {
  for (const table of TABLES) await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
  await sell(1)
  await fold()
  await sell(2_000)
  await fold()
  await sell(10)
  const before = await read()
  await fold()
  const after = await read()
  // Of 10 users in 2,011.
  for (const [i, table] of TABLES.entries()) expect([table, after[i]! - before[i]!]).toEqual([table, expect.toSatisfy(n => n <= 200)])
})
