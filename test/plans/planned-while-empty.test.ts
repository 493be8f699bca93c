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

const fold = (users: number) => drainMarks(planned, api.project.production, users)
const read = async () => {
  const rows = await rowsRead([planned], TABLES)
  return TABLES.map(table => rows[table]!)
}

/** Rows of each table that are read to fold ten users. */
async function readForTen(): Promise<[string, number][]> {
  const before = await read()
  await fold(10)
  const after = await read()
  return TABLES.map((table, i) => [table, after[i]! - before[i]!])
}

test('a fold reads the facts and the marks of its users alone', async () => {
  for (const table of TABLES) await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
  await sell(1)
  await fold(1)
  await sell(2_000)
  await fold(2_000)
  await sell(1_000)
  // Ten users among 3,001, of whom at least 500 are marked: at most forty times ten are folded. Deleted marks are read, too, until no snapshot of Postgres's own analyzing may need them.
  const few = TABLES.map(table => [table, expect.toSatisfy(n => n <= 200)])
  await expect.poll(readForTen, { interval: 500, timeout: 20_000 }).toEqual(few)
})
