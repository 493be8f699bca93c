import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SUBSCRIPTION_DUE } from '../../domain/purchases/subscriptions/store.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { share } from '../harness/effort.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

// History: periods that are over when they are recorded, as from an import. Time is the sandbox's clock.
let api: TestApi
let key: string
let base: number
beforeAll(async () => {
  api = await startApi()
  key = api.project.sandbox
  await product(api, { id: 'monthly', apple_product_id: 'm' }, key)
  await product(api, { id: 'annual', duration: 'P1Y', apple_product_id: 'y' }, key)
  base = Date.parse((await api.call('GET', '/v4/test-clock', { key })).body.now)
})
afterAll(() => api.stop())

const HOUR = 3_600_000
const iso = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`
const at = (days: number) => iso(base + days * 24 * HOUR)
const advance = (by: string) => api.call('POST', '/v4/test-clock/advance', { key, body: { by } })
const record = async (user: string, id: string, from: number, to: number, more: Record<string, unknown> = {}, productId = 'm') => {
  const app_store_data = { transaction_id: `${user}-${id}`, original_transaction_id: user, product_id: productId }
  const answer = await purchaseOf(api, user, { purchased_at: at(from), expires_at: at(to), app_store_data, ...more }, key)
  expect([answer.status, answer.text]).toEqual([201, answer.text])
  return answer.body.url as string
}
type Row = { name: string; happened_at: string; transaction: string; triggers: boolean } & Record<
  'price' | 'product' | 'old_product',
  string | null
>
const logOf = async (user: string): Promise<Row[]> => {
  const { rows } = await api.pool.query<Row>(
    `select name, happened_at, replace(transaction_id, user_id, '') as transaction, triggers, price::text, product_id as product,
       old_product_id as old_product from events where user_id = $1 order by log_offset`,
    [user],
  )
  return rows
}
const eventsOf = async (user: string) => (await logOf(user)).map(row => `${row.name} ${row.happened_at}`)
const TRIAL = { price: '0' }

test('history is emitted in its order and with its own times when its lineage had no new fact for ten minutes', async () => {
  const user = await userOf(api, key)
  await record(user, 'b', -83, -53)
  await record(user, 'c', -53, -23, { is_auto_renewing: false })
  await advance('PT9M')
  expect(await eventsOf(user)).toEqual([])
  await record(user, 'a', -90, -83, TRIAL)
  await advance('PT9M')
  expect(await eventsOf(user)).toEqual([])
  const due = await api.pool.query(`select 1 from due d join subscriptions s on s.id = d.id where d.kind = $1 and s.user_id = $2`, [
    SUBSCRIPTION_DUE,
    user,
  ])
  expect(due.rowCount).toBe(1)
  await advance('PT2M')
  const log = await logOf(user)
  expect(log.slice(0, 4).map(({ name, happened_at, triggers }) => [name, happened_at, triggers])).toEqual([
    ['trial_started', at(-90), false],
    ['trial_converted', at(-83), false],
    ['subscription_renewed', at(-53), false],
    ['subscription_expired', at(-23), false],
  ])
  expect(log.slice(4).map(({ name }) => name)).toEqual(['subscription_canceled', 'trial_still_active'])
})

test('a period that is not over is emitted at once, beside history that waits', async () => {
  const user = await userOf(api, key)
  await record(user, 'a', -37, -30, TRIAL)
  await record(user, 'b', -30, 400)
  expect(await eventsOf(user)).toEqual([`trial_converted ${at(-30)}`])
  await advance('PT11M')
  expect(await eventsOf(user)).toEqual([
    `trial_converted ${at(-30)}`,
    `trial_started ${at(-37)}`,
    expect.stringMatching(/^trial_still_active/),
  ])
})

test('what is stated about history waits for its begin, and its refund adds up', async () => {
  const user = await userOf(api, key)
  const url = await record(user, 'a', -60, -30, { price: '10' })
  await api.call('PATCH', url, { key, body: { refunded_at: at(-40), refunded_amount: '4' } })
  expect(await eventsOf(user)).toEqual([])
  await advance('PT11M')
  expect((await logOf(user)).map(({ name, price }) => [name, price])).toEqual([
    ['subscription_started', '10.00'],
    ['subscription_refunded', '-4.00'],
    ['subscription_expired', null],
  ])
})

test('an end that was due before a posted event of its lineage is emitted nevertheless', async () => {
  const user = await userOf(api, key)
  const now = async () => Date.parse((await api.call('GET', '/v4/test-clock', { key })).body.now)
  const inDays = ((await now()) - base) / (24 * HOUR)
  await record(user, 'a', inDays - 29.5, inDays + 0.5, { is_auto_renewing: false })
  // The clock passes the end, and no worker has noticed it yet.
  await api.pool.query(`update environments set clock_offset = clock_offset + interval '13 h' where id = $1`, [
    api.project.sandboxEnvironment,
  ])
  const transaction = { transaction_id: 'none', original_transaction_id: user }
  const event = {
    event_id: `posted-${user}`,
    event_name: 'subscription_canceled',
    customer_uid: user,
    happened_at: iso(await now()),
    platform: 'iOS',
  }
  expect((await api.call('POST', '/v4/events', { key, body: { events: [{ ...event, transaction }] } })).body.created).toBe(1)
  await advance('PT11M')
  expect(await eventsOf(user)).toContain(`subscription_expired ${at(inDays + 0.5)}`)
})

const period = fc.record({
  length: fc.integer({ min: 3, max: 40 }),
  gap: fc.constantFrom(0, 0, 0, 0.5, 20),
  trial: fc.boolean(),
  annual: fc.boolean(),
  renews: fc.boolean(),
  refund: fc.constantFrom(null, null, '4', '9.99'),
})
/** Events that have the time at which they were noticed. */
const NOTICED = ['trial_canceled', 'subscription_canceled', 'trial_still_active']

/** The begin of the period that is not over is emitted at once, as it looks then. Only its name depends on what was recorded before. */
const isLiveBegin = ({ transaction, product, old_product, price }: Row) =>
  transaction === '-live' && price !== null && product !== old_product

test('history that is recorded in any order tells the same events', async () => {
  const periods = fc.array(period, { minLength: 2, maxLength: 5 })
  const shuffles = fc.array(fc.nat({ max: 1000 }), { minLength: 6, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(periods, fc.boolean(), shuffles, async (past, hasLive, shuffle) => {
      const begins = [...past, null].map((_, i) => -300 + past.slice(0, i).reduce((sum, { length, gap }) => sum + length + gap, 0))
      const recordOne = async (user: string, i: number) => {
        if (i === past.length) return record(user, 'live', begins[i]!, 400)
        const { length, trial, annual, renews, refund } = past[i]!
        const more = { is_auto_renewing: renews, ...(trial && TRIAL) }
        const url = await record(user, String(i), begins[i]!, begins[i]! + length, more, annual ? 'y' : 'm')
        if (refund === null || trial) return
        const change = { refunded_at: at(begins[i]! + length / 2), refunded_amount: refund }
        expect((await api.call('PATCH', url, { key, body: change })).status).toBe(200)
      }
      const recordAll = async (order: number[]) => {
        const user = await userOf(api, key)
        for (const i of order) await recordOne(user, i)
        return user
      }
      const shown = async (user: string) => {
        const log = await logOf(user)
        const { rows } = await api.pool.query('select net_payments_usd::float8 as net from users where id = $1', [user])
        expect(log.reduce((sum, { price }) => sum + Number(price ?? 0), 0)).toBeCloseTo(rows[0].net, 6)
        const emitted = log.map(row => ({
          ...row,
          ...(NOTICED.includes(row.name) && { happened_at: null }),
          ...(isLiveBegin(row) && { name: 'begin' }),
        }))
        const inOrder = emitted.filter(row => !NOTICED.includes(row.name) && row.transaction !== '-live')
        return { all: emitted.map(row => JSON.stringify(row)).sort(), inOrder }
      }
      const order = begins.map((_, i) => i).slice(0, hasLive ? undefined : -1)
      const other = [...order].sort((a, b) => shuffle[a]! - shuffle[b]!)
      const users = [await recordAll(order), await recordAll(other)]
      await advance('PT11M')
      expect(await shown(users[1]!)).toEqual(await shown(users[0]!))
    }),
    { numRuns: share(15), seed: 10 },
  )
})

test('the end of an imported run is emitted once, when the workers come back late, too', async () => {
  const user = await userOf(api, key)
  await record(user, 'a', -60, -30)
  await api.pool.query(`update environments set clock_offset = clock_offset + interval '3 d' where id = $1`, [
    api.project.sandboxEnvironment,
  ])
  await advance('PT11M')
  await advance('P2D')
  expect(await eventsOf(user)).toEqual([`subscription_started ${at(-60)}`, `subscription_expired ${at(-30)}`])
})
