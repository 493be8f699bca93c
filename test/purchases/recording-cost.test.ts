import { afterAll, beforeAll, expect, test } from 'vitest'
import { refold } from '../../domain/purchases/refold.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { recordPurchases } from '../harness/purchase-rows.ts'
import { userOf } from '../harness/purchases.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const HOUR_MS = 3_600_000
const begins = Date.now() - 1_000 * HOUR_MS
const hour = (n: number) => new Date(begins + n * HOUR_MS).toISOString()

/** How many rows of each table were inserted, updated or deleted. */
async function writtenIn(tx: Tx): Promise<Map<string, number>> {
  const { rows } = await tx.query<{ name: string; count: number }>(
    'select relname as name, n_tup_ins + n_tup_upd + n_tup_del as count from pg_stat_xact_user_tables order by relname',
  )
  return new Map(rows.map(({ name, count }) => [name, count]))
}

/** How many rows a parameter has: an array, or the literal of an array of ids. */
function rowsIn(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return typeof value === 'string' && /^\{[\d,]+\}$/.test(value) ? value.split(',').length : 1
}

/** The statements of what is done in a transaction, how often each is executed and the most rows it takes as arrays, and the rows written by table. */
async function costOf(work: (tx: Tx) => Promise<void>) {
  return transaction(api.pool, async tx => {
    const statements: Record<string, { executions: number; rows: number }> = {}
    const counted = new Proxy(tx, {
      get(of, name) {
        if (name !== 'query') return Reflect.get(of, name)
        return (query: { name?: string; text?: string; values?: unknown[] } | string, values?: unknown[]) => {
          const label = typeof query === 'string' ? query : (query.name ?? query.text!)
          const given = (typeof query === 'string' ? values : query.values) ?? []
          const { executions, rows } = statements[label] ?? { executions: 0, rows: 0 }
          const taken = Math.max(rows, ...given.map(rowsIn))
          statements[label] = { executions: executions + 1, rows: taken }
          return Reflect.apply(of.query, of, [query, values].slice(0, values ? 2 : 1))
        }
      },
    })
    // The counts of a session are of its transactions since they were handed over last.
    const before = await writtenIn(tx)
    await work(counted)
    const written = [...(await writtenIn(tx))].map(([table, count]) => [table, count - (before.get(table) ?? 0)] as const)
    return { statements, written: Object.fromEntries(written.filter(([, count]) => count > 0)) }
  })
}

/** What it costs to record a renewal after so many: the end of the access before it is cut, and the run goes on. */
async function recordingAfter(renewals: number) {
  const environment = api.project.production
  const user = await userOf(api)
  const periods = Array.from({ length: renewals }, (_, n) => ({ at: hour(n), until: hour(n + 1), run: hour(0), amount: 5 }))
  await recordPurchases(api.pool, environment, user, periods)
  await transaction(api.pool, tx => refold(tx, environment, [user]))
  return costOf(async tx => {
    await tx.query(
      `insert into purchases (environment, lineage, user_id, platform, store_product_id, is_subscription, currency, price, amount, purchased_at,
         expires_at, auto_renewing, created_at)
       select $1, lineage, $2, platform, 'p', true, 'USD', '5', 5, $3::timestamptz, $4, true, $3::timestamptz from purchases
       where environment = $1 and user_id = $2 limit 1`,
      [environment, user, hour(renewals), hour(renewals + 1)],
    )
    await refold(tx, environment, [user])
  })
}

test('a recorded renewal writes as many rows, by as many statements, after 300 renewals as after 30', async () => {
  const [few, many] = [await recordingAfter(30), await recordingAfter(300)]
  expect(many).toEqual(few)
  // The renewal itself, and the one before it, which is no longer the last.
  expect(many.statements['derive-purchases']).toEqual({ executions: 1, rows: 2 })
  expect(many.written.purchases).toBe(3)
})
