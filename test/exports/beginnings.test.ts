import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Bound, type ExportSource, nextBound, setPart } from '../../domain/exports/parts.ts'
import { selectRows } from '../../domain/exports/statement.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { QUICK } from '../harness/engine-fixture.ts'
import { erasuresEnded, filesWith } from '../harness/erasure.ts'
import { item } from '../harness/events.ts'
import { exportAll } from '../harness/exports.ts'
import { rowsRead } from '../harness/rows-read.ts'

// A customer whose beginning moves back stays where files of customers have the customer: at the time of recording.

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: 3, policies: QUICK })
})
afterAll(() => api.stop())

const DAY = 86_400_000
const START = Date.now()
const iso = (days: number) => new Date(START + days * DAY).toISOString()
const history = (key: string, identities: string[], days: number) =>
  api.call('POST', '/v4/events', {
    key,
    body: { events: identities.map(identity_id => item({ identity_id, happened_at: iso(days) })), trigger: false },
  })

async function customersOf(key: string, from: number, to: number) {
  const made = await exportAll(api, { type: 'customers', format: 'ndjson', from_timestamp: iso(from), to_timestamp: iso(to) }, key)
  const rows = made.text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as { user_id: string; install_date: string })
  return { made, rows, names: rows.map(({ user_id }) => user_id).sort() }
}

test('customers are in the window in which they were recorded, once, whatever their history; Install Date shows when it begins', async () => {
  const { secret: key } = await api.newProject()
  const names = Array.from({ length: 8 }, (_, n) => `c${n}`)
  await history(key, names.slice(0, 4), -100)
  await api.call('POST', '/v4/users', { key, body: { environment: 'prod', created_at: iso(-200) } })
  for (const identity_id of names.slice(4)) await api.call('POST', '/v4/identities', { key, body: { identity_id } })
  const before = await customersOf(key, -1, 1)
  expect(before.rows).toHaveLength(9)
  await history(key, names, -150)
  const after = await customersOf(key, -1, 1)
  expect(after.names).toEqual(before.names)
  expect(new Set(after.rows.filter(({ user_id }) => user_id !== null).map(row => row.install_date.slice(0, 10)))).toEqual(
    new Set([iso(-150).slice(0, 10)]),
  )
  expect((await customersOf(key, -300, -1)).rows).toEqual([])
})

test('an erasure finds the files that were written before the beginning moved', async () => {
  const { secret: key, production } = await api.newProject()
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const identity_id of names) await api.call('POST', '/v4/identities', { key, body: { identity_id } })
  await customersOf(key, -1, 1)
  await history(key, names, -100)
  const { rows } = await api.pool.query(`select id from users where environment = $1 and identity_id = 'c'`, [production])
  expect(await filesWith(api.files, rows[0].id)).not.toEqual([])
  expect((await api.call('DELETE', `/v4/customers/${rows[0].id}`, { key })).status).toBe(204)
  await erasuresEnded(api.pool)
  expect(await filesWith(api.files, rows[0].id)).toEqual([])
})

test('a part of a file of customers reads its own rows, whether their beginnings have moved or not', async () => {
  const { production } = await api.newProject()
  await api.pool.query(
    `insert into users (environment, id, created_at, last_seen_at, recorded_at)
     select $1, 'u' || n, case when n % 2 = 0 then t else t - interval '1 year' end, t, case when n % 2 = 1 then t end
     from (select n, timestamptz '2026-03-01' + n * interval '1 minute' as t from generate_series(1, 5000) n) g`,
    [production],
  )
  await api.pool.query('analyze users')
  const offsets = Array(64).fill(0)
  const [windowFrom, windowTo] = ['2026-03-02T00:00:00Z', '2026-03-03T00:00:00Z']
  const common = { platforms: '', formulaGuard: false, include: [], fromOffsets: offsets, toOffsets: offsets, windowFrom, windowTo }
  const source: ExportSource = { ...common, environment: production, type: 'customers', format: 'csv', compression: 'none' }
  const begin: Bound = [windowFrom, '', '']
  const read = async () => (await rowsRead([api.pool], ['users'])).users!
  const before = await read()
  const rows = await transaction(api.pool, async tx => {
    const upto = await nextBound(tx, source, begin, 20)
    await setPart(tx, source, begin, upto!)
    return (await tx.query(selectRows(source))).rows
  })
  expect(rows).toHaveLength(20)
  expect((await read()) - before).toBeLessThan(200)
})
