import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transaction } from '../../../store/transaction.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../../harness/api.ts'
import type { Client } from '../../harness/client.ts'
import { share } from '../../harness/effort.ts'
import { eraseUser } from '../../harness/erasure.ts'
import { item } from '../../harness/events.ts'
import { type Exported, exportAll, finished } from '../../harness/exports.ts'
import { advance, must } from '../../harness/integrations.ts'
import { product, purchaseOf, userOf } from '../../harness/purchases.ts'
import { until } from '../../harness/until.ts'

// Files of the customers who changed since the former file.

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000, partRows: 3 })
})
afterAll(() => api.stop())

const DAY = 86_400_000
const EVER = '1970-01-01T00:00:00Z'
const customersOf = (key: string, updated_from = EVER): Promise<Exported> => exportAll(api, { type: 'customers', updated_from }, key)
type Row = Record<string, string>
const rowsOf = ({ text }: Exported): Map<string, Row> =>
  new Map((parse(text, { columns: true }) as Row[]).map(row => [row['Q User ID']!, row]))

type Change =
  | { is: 'event'; person: number; name: string; daysAgo: number; country: string; trigger: boolean }
  | { is: 'property' | 'purchase' | 'erasure' | 'grant'; person: number }
  | { is: 'link'; isGiven: boolean }
  | { is: 'time'; days: number }

const person = fc.nat(5)
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    is: fc.constant('event' as const),
    person,
    name: fc.constantFrom('subscription_started', 'trial_started', 'subscription_canceled', 'in_app_purchase', 'opened'),
    daysAgo: fc.nat(40),
    country: fc.constantFrom('DE', 'FR', 'JP'),
    trigger: fc.boolean(),
  }),
  fc.record({ is: fc.constantFrom('property' as const, 'purchase' as const, 'erasure' as const, 'grant' as const), person }),
  fc.record({ is: fc.constant('link' as const), isGiven: fc.boolean() }),
  fc.record({ is: fc.constant('time' as const), days: fc.integer({ min: 1, max: 20 }) }),
)

/** A project whose sandbox changes, with six people of whom some are unknown yet. */
async function changing() {
  const keys: TestProjectKeys = await api.newProject()
  const key = keys.sandbox
  const call: Client = (method, path, options) => api.call(method, path, { key, ...options })
  await product(api, { id: 'monthly', apple_product_id: 'monthly' }, key)
  await must(call, 'POST', '/v4/entitlements', { id: 'premium', product_ids: ['monthly'] })
  const people: string[] = await Promise.all(Array.from({ length: 6 }, () => userOf(api, key)))
  const erased = new Set<string>()
  let count = 0
  async function apply(one: Change): Promise<void> {
    if (one.is === 'time') return advance(call, `P${one.days}D`)
    if (one.is === 'link') return must(call, 'PATCH', '/v4/entitlements/premium', { product_ids: one.isGiven ? ['monthly'] : [] })
    const user = people[one.person]!
    if (erased.has(user)) return
    switch (one.is) {
      case 'event': {
        const { now } = await must(call, 'GET', '/v4/test-clock')
        const happened_at = new Date(Date.parse(now) - one.daysAgo * DAY).toISOString()
        const transaction = { transaction_id: `t-${count++}`, original_transaction_id: `o-${one.person}` }
        const paid = one.name === 'subscription_started' || one.name === 'in_app_purchase'
        const event = { event_name: one.name, customer_uid: user, happened_at, transaction, platform: 'iOS' }
        const posted = item({ ...event, device: { country: one.country }, product_id: 'monthly', price: '5', currency: 'USD' })
        if (!paid) for (const field of ['price', 'currency']) delete posted[field]
        await must(call, 'POST', '/v4/events', { events: [posted], trigger: one.trigger ? 'always' : false })
        return
      }
      case 'property':
        await must(call, 'POST', `/v4/users/${user}/properties`, { properties: [{ key: 'mark', value: String(count++) }] })
        return
      case 'purchase': {
        const app_store_data = { product_id: 'monthly', transaction_id: `p-${count}`, original_transaction_id: `p-${count++}` }
        const { now } = await must(call, 'GET', '/v4/test-clock')
        const made = await purchaseOf(
          api,
          user,
          { purchased_at: now, expires_at: new Date(Date.parse(now) + 30 * DAY).toISOString(), app_store_data },
          key,
        )
        expect(made.status, made.text).toBe(201)
        return
      }
      case 'grant':
        // Refused where a purchase gives it.
        await call('POST', `/v4/users/${user}/entitlements`, { body: { entitlement_id: 'premium' } })
        return
      case 'erasure':
        await eraseUser(api.pool, keys.sandboxEnvironment, user)
        erased.add(user)
        return
      default:
        one satisfies never
    }
  }
  return { key, erased, apply }
}

test('the files of each night, loaded one after the other, are the whole file', { timeout: 120_000 }, async () => {
  const nights = fc.array(fc.array(change, { maxLength: 5 }), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(nights, async changes => {
      const { key, erased, apply } = await changing()
      const loaded = new Map<string, Row>()
      let edge = EVER
      for (const night of [[], ...changes]) {
        for (const one of night) await apply(one)
        const file = await customersOf(key, edge)
        expect(file.object).toMatchObject({ updated_from: edge, updated_to: expect.any(String) })
        for (const [id, row] of rowsOf(file)) loaded.set(id, row)
        for (const id of erased) loaded.delete(id)
        edge = file.object.updated_to
      }
      const whole = rowsOf(await customersOf(key))
      expect(Object.fromEntries(loaded)).toEqual(Object.fromEntries(whole))
    }),
    { numRuns: share(6) },
  )
})

test('a file of changes has nobody else', async () => {
  const { key, apply } = await changing()
  expect(rowsOf(await customersOf(key)).size).toBe(6)
  await transaction(api.pool, async tx => {
    await tx.query('alter table users disable trigger users_changed')
    await tx.query(`update users set changed_at = '2026-01-01T00:00:00Z'`)
    await tx.query('alter table users enable trigger users_changed')
  })
  await apply({ is: 'property', person: 2 })
  const changed = rowsOf(await customersOf(key, '2026-01-02T00:00:00Z'))
  expect([...changed.values()].map(row => row['User properties'])).toEqual(['{"mark":"0"}'])
})

test('a change that is committed after the edge is waited for', async () => {
  const { key } = await changing()
  const call: Client = (method, path, options) => api.call(method, path, { key, ...options })
  const { updated_to } = (await customersOf(key)).object
  const slow = await api.pool.connect()
  await slow.query('begin')
  const { rows } = await slow.query<{ id: string }>(
    `update users set country = 'NZ' where (environment, id) = (select environment, id from users order by environment desc, id limit 1) returning id`,
  )
  const accepted = await call('POST', '/v4/exports', { body: { type: 'customers', updated_from: updated_to } })
  await until('a look', async () => {
    const looks = `select 1 from steps s join runs r on r.id = s.run where r.subject = $1 and s.name like 'look-%'`
    return (await api.pool.query(looks, [accepted.body.id])).rowCount! > 0 || undefined
  })
  expect((await call('GET', `/v4/exports/${accepted.body.id}`)).body).toMatchObject({ status: 'new', updated_to: null })
  await slow.query('commit')
  slow.release()
  const { file_url, updated_to: next } = await finished(call, accepted.body.id)
  expect(next).toEqual(expect.any(String))
  const text = await (await fetch(file_url)).text()
  expect((parse(text, { columns: true }) as Row[]).find(row => row['Q User ID'] === rows[0]!.id)).toMatchObject({ Country: 'NZ' })
})

/** Meanwhile a transaction that may have changed something does not end. */
async function withEndless(work: () => Promise<void>): Promise<void> {
  const endless = await api.pool.connect()
  try {
    await endless.query('begin')
    await endless.query('select pg_current_xact_id()')
    await work()
  } finally {
    await endless.query('rollback')
    endless.release()
  }
}

test('a transaction without end costs the edge, and not the file', async () => {
  const { key } = await changing()
  const call: Client = (method, path, options) => api.call(method, path, { key, ...options })
  await withEndless(async () => {
    const accepted = await must(call, 'POST', '/v4/exports', { type: 'customers', updated_from: EVER })
    const ended = await until('a file without edge', async () => {
      await advance(call, 'PT1M')
      const { body } = await call('GET', `/v4/exports/${accepted.id}`)
      return body.status === 'done' ? body : undefined
    })
    expect(ended).toMatchObject({ updated_from: EVER, updated_to: null, rows_written: 6 })
  })
  expect((await customersOf(key)).object.updated_to).toEqual(expect.any(String))
})

const WINDOW = { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-12-31T00:00:00Z' }

test.each([{}, { segment_id: 'never_paid' }])('a file of a window has no edge and waits for nobody: %j', bounds =>
  withEndless(async () => {
    const { object } = await exportAll(api, { type: 'customers', ...WINDOW, ...bounds })
    expect(object).toMatchObject({ updated_from: null, updated_to: null })
  }))

test.each([
  ['updated_from', { type: 'events', updated_from: EVER }],
  ['updated_from', { type: 'subscriptions', updated_from: EVER }],
  ['updated_from', { type: 'customers', updated_from: '2999-01-01T00:00:00Z' }],
  ['updated_from', { type: 'customers', updated_from: 'yesterday' }],
  ['from_timestamp', { type: 'customers', updated_from: EVER, from_timestamp: WINDOW.from_timestamp }],
  ['to_timestamp', { type: 'customers', updated_from: EVER, to_timestamp: WINDOW.to_timestamp }],
  ['segment_id', { type: 'customers', updated_from: EVER, segment_id: 'never_paid' }],
])('%s is refused: %j', async (refused, body) => {
  const { status, body: answer } = await api.call('POST', '/v4/exports', { body })
  expect([status, answer.error.details.map(({ field }: { field: string }) => field)]).toEqual([400, [refused]])
})
