import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bound, type ExportSource, nextBound, partRange } from '../../../domain/reporting/exports/parts.ts'
import { selectRows } from '../../../domain/reporting/exports/statement.ts'
import { transaction } from '../../../store/transaction.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { erasuresEnded, filesWith } from '../../harness/erasure.ts'
import { item } from '../../harness/events.ts'
import { exportAll } from '../../harness/exports.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'
import { rowsRead } from '../../harness/rows-read.ts'

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
    return (await tx.query(selectRows(source, partRange(source, begin, upto!)))).rows
  })
  expect(rows).toHaveLength(20)
  expect((await read()) - before).toBeLessThan(200)
})

// How things stand: one row for each purchase, subscription and entitlement, whatever the window.

const STATES = ['purchases_state', 'subscriptions', 'entitlements']
type Row = Record<string, unknown>
async function stateOf(type: string, key: string, more: Record<string, unknown> = {}): Promise<Row[]> {
  const { text } = await exportAll(api, { type, format: 'ndjson', ...more }, key)
  return text
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as Row)
}

describe('purchases_state, subscriptions, entitlements', () => {
  let key: string
  let people: string[]
  beforeAll(async () => {
    const project = await api.newProject()
    key = project.secret
    people = []
    for (let n = 0; n < 4; n++) people.push(await userOf(api, key))
    await product(api, { id: 'pro_month', apple_product_id: 'pro.month' }, key)
    await api.call('POST', '/v4/entitlements', { key, body: { id: 'pro', product_ids: ['pro_month'] } })
    await api.call('POST', '/v4/entitlements', { key, body: { id: 'gift', product_ids: [] } })
    const bought = (user: string, n: number, days: number) => {
      const app_store_data = { transaction_id: `${user}-${n}`, original_transaction_id: `${user}-0`, product_id: 'pro.month' }
      const isDiscounted = user === people[2] && n === 1
      const given = { purchased_at: iso(days), expires_at: iso(days + 30), is_discounted: isDiscounted, app_store_data }
      return purchaseOf(api, user, given, key)
    }
    for (const user of people.slice(0, 3))
      for (const [n, days] of [-40, -10].entries()) expect((await bought(user, n, days)).status).toBe(201)
    await api.call('POST', `/v4/users/${people[3]}/entitlements`, { key, body: { entitlement_id: 'gift' } })
  })

  test('each has every row once, over several parts, also without a window; another environment has none', async () => {
    const purchases = await stateOf('purchases_state', key)
    expect(purchases.map(row => row.transaction_id)).toEqual(people.slice(0, 3).flatMap(user => [`${user}-0`, `${user}-1`]))
    expect(purchases[1]).toMatchObject({
      q_user_id: people[0],
      platform: 'iOS',
      linked_product_id: 'pro_month',
      is_last_period: true,
      price: '9.99',
    })
    const subscriptions = await stateOf('subscriptions', key)
    expect(subscriptions.map(row => [row.q_user_id, row.lineage, row.subscription_state, row.periods])).toEqual(
      people.slice(0, 3).map(user => [user, `${user}-0`, 'paid', 2]),
    )
    const entitlements = await stateOf('entitlements', key)
    expect(entitlements.map(row => [row.q_user_id, row.entitlement_id, row.is_active, row.source])).toEqual([
      ...people.slice(0, 3).map(user => [user, 'pro', true, 'appstore']),
      [people[3], 'gift', true, 'manual'],
    ])
    for (const row of entitlements) {
      const { data } = (await api.call('GET', `/v4/users/${row.q_user_id}/entitlements`, { key })).body
      expect([row.start_date, row.end_date]).toEqual([data[0].started_at, data[0].expires_at])
    }
    const past = { from_timestamp: iso(-300), to_timestamp: iso(-299) }
    expect(await stateOf('purchases_state', key, past)).toEqual(purchases)
    const { secret: other } = await api.newProject()
    for (const type of STATES) expect(await stateOf(type, other)).toEqual([])
  })

  test('parquet has the same rows as csv; include and a window of events are refused with the field', async () => {
    for (const type of STATES) {
      const { text, object } = await exportAll(api, { type }, key)
      const rows = text.trimEnd().split('\n').length - 1
      expect([object.rows_written, object.from_timestamp]).toEqual([rows, '1970-01-01T00:00:00Z'])
      expect((await exportAll(api, { type, format: 'parquet' }, key)).object.rows_written).toBe(rows)
      const refused = await api.call('POST', '/v4/exports', { key, body: { type, include: ['event_id'] } })
      expect([refused.status, refused.body.error.details[0].field]).toEqual([400, 'include'])
    }
    const refused = await api.call('POST', '/v4/exports', { key, body: { type: 'events' } })
    expect([refused.status, refused.body.error.details[0].field]).toEqual([400, 'from_timestamp'])
  })

  test('a pause, a planned change of product and a discount are those of the last period', async () => {
    const user = people[2]!
    const { data } = (await api.call('GET', `/v4/users/${user}/purchases`, { key })).body
    const last = (data as { url: string; is_auto_renewing: boolean }[]).find(one => one.is_auto_renewing)!
    const changed = await api.call('PATCH', last.url, { key, body: { is_paused: true, planned_product_id: 'pro.year' } })
    expect(changed.status, changed.text).toBe(200)
    const planned = { is_paused: true, planned_product_id: 'pro.year', is_discounted: true }
    const none = { is_paused: false, planned_product_id: null, is_discounted: false }
    const of = async (type: string) => (await stateOf(type, key)).filter(row => row.q_user_id === user)
    expect(await of('purchases_state')).toMatchObject([none, planned])
    expect(await of('subscriptions')).toMatchObject([planned])
    expect((await stateOf('subscriptions', key))[0]).toMatchObject(none)
    expect((await exportAll(api, { type: 'subscriptions' }, key)).object.manifest.columns_version).toBe(2)
  })

  test('an erased user is in none of the files, and the others stay', async () => {
    const made = []
    for (const type of STATES) made.push(await exportAll(api, { type, format: 'ndjson' }, key))
    expect((await api.call('DELETE', `/v4/customers/${people[1]}`, { key })).status).toBe(204)
    await erasuresEnded(api.pool)
    expect(await filesWith(api.files, people[1]!)).toEqual([])
    const left = await Promise.all(made.map(async ({ object }) => (await api.call('GET', object.url, { key })).body.rows_written))
    expect(left).toEqual([4, 2, 3])
  })
})
