import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { markStored } from '../../domain/durable/marks/mark.ts'
import { refold } from '../../domain/purchases/refold.ts'
import { recordedPurchases } from '../../domain/purchases/subscriptions/recorded.ts'
import { recount } from '../../domain/purchases/subscriptions/recount.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { share } from '../harness/effort.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await product(api, { id: 'monthly', apple_product_id: 'm', stripe_product_id: 'm' })
  await product(api, { id: 'coins', type: 'consumable', duration: null, apple_product_id: 'c' })
  await api.pool.query(`insert into currency_rates select 'GBP', date '2026-01-01' + n * 30, 1.25 + n * 0.01 from generate_series(0, 5) n`)
})
afterAll(() => api.stop())

const STORED = `status, first_transaction_at, last_payment_at, payments_count, converted_payments, purchase_currency, purchase_product_id,
  trim_scale(gross_payments_usd)::text as gross, trim_scale(net_payments_usd)::text as net`
const stored = async (user: string) => {
  await drainMarks(api.pool, api.project.production, 10_000)
  const { rows } = await api.pool.query(`select ${STORED} from users where id = $1`, [user])
  const subscriptions = await api.pool.query(
    'select platform, lineage, state_at::text, states, auto_renewing, ever_paid from subscriptions where user_id = $1 order by 1, 2',
    [user],
  )
  return { ...rows[0], subscriptions: subscriptions.rows }
}

const hours = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 3_600_000).toISOString()
let batch = 0

const NAMES = [
  'trial_started',
  'trial_converted',
  'trial_canceled',
  'trial_expired',
  'subscription_started',
  'subscription_renewed',
  'subscription_canceled',
  'subscription_billing_retry_entered',
  'subscription_expired',
  'subscription_refunded',
  'in_app_purchase',
  'in_app_refunded',
]
const priced = (name: string) => /converted|_started|renewed|purchase|refunded/.test(name) && name !== 'trial_started'
const fact = fc.record({
  name: fc.constantFrom(...NAMES),
  at: fc.integer({ min: 0, max: 5_000 }),
  lineage: fc.constantFrom('L1', 'L2'),
  transaction: fc.option(fc.constantFrom('1', '2', '3', '4')),
  price: fc.constantFrom('9.99', '5', '0.01'),
  currency: fc.constantFrom('USD', 'EUR', 'GBP'),
  stated: fc.option(fc.constantFrom('1.5', '20')),
  lasts: fc.option(fc.integer({ min: 1, max: 800 })),
})

test('posted facts give the same figures in any batches as a recount of all of them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(fact, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 }), async batches => {
      const user = await userOf(api)
      for (const facts of batches) {
        const events = facts.map((f, i) => ({
          event_id: `${user}-${++batch}-${i}`,
          event_name: f.name,
          customer_uid: user,
          happened_at: hours(f.at),
          platform: 'iOS',
          product_id: 'm',
          ...(priced(f.name) && { price: f.price, currency: f.currency, ...(f.stated !== null && { price_usd: f.stated }) }),
          transaction: {
            ...(f.transaction !== null && { transaction_id: `${user}${f.transaction}` }),
            original_transaction_id: `${user}${f.lineage}`,
            ...(f.lasts !== null && { expires_at: hours(f.at + f.lasts) }),
          },
        }))
        expect((await api.call('POST', '/v4/events', { body: { events } })).status).toBe(200)
        await drainMarks(api.pool, api.project.production, 10_000)
      }
      const before = await stored(user)
      await transaction(api.pool, async tx =>
        recount(tx, api.project.production, [user], new Map(), await recordedPurchases(tx, api.project.production, [user])),
      )
      await transaction(api.pool, tx => refold(tx, api.project.production, [user]))
      expect(await stored(user)).toEqual(before)
    }),
    { numRuns: share(40), seed: 20_261 },
  )
})

test('a posted end takes the status at once; without it the status stays for 24 h', async () => {
  const posted = async (names: string[]) => {
    const user = await userOf(api)
    const ago = (h: number) => new Date(Date.now() - h * 3_600_000).toISOString()
    const events = names.map(event_name => ({
      event_id: `${user}-${event_name}`,
      event_name,
      customer_uid: user,
      happened_at: event_name === 'subscription_expired' ? ago(1) : ago(700),
      platform: 'iOS',
      transaction: { transaction_id: `${user}-1`, expires_at: ago(1) },
      ...(priced(event_name) && { price: '5', currency: 'USD' }),
    }))
    expect((await api.call('POST', '/v4/events', { body: { events } })).body.created).toBe(names.length)
    return (await stored(user)).status
  }
  expect(await posted(['subscription_started'])).toBe('active')
  expect(await posted(['subscription_started', 'subscription_expired'])).toBe('churned')
})

test('a purchase replaces the posted event of its transaction', async () => {
  const user = await userOf(api)
  const transaction = { transaction_id: 'T9', original_transaction_id: 'T9', expires_at: hours(20_000) }
  const event = {
    event_id: 'e9',
    event_name: 'subscription_started',
    customer_uid: user,
    happened_at: hours(0),
    platform: 'iOS',
    product_id: 'm',
  }
  await api.call('POST', '/v4/events', { body: { events: [{ ...event, price: '7', currency: 'USD', transaction }] } })
  expect(await stored(user)).toMatchObject({ status: 'active', payments_count: 1, gross: '7' })
  const app_store_data = { transaction_id: 'T9', product_id: 'm' }
  await purchaseOf(api, user, { price: '8', purchased_at: hours(0), expires_at: hours(20_000), is_auto_renewing: false, app_store_data })
  expect(await stored(user)).toMatchObject({ status: 'canceled', payments_count: 1, gross: '8' })
})

test('refunds subtract at most what was paid, and family-shared purchases count nowhere', async () => {
  const user = await userOf(api)
  const app = (transaction_id: string, product_id = 'c') => ({ app_store_data: { transaction_id, product_id } })
  const coins = await purchaseOf(api, user, { price: '10', purchased_at: hours(0), ...app('R1') })
  await purchaseOf(api, user, { price: '3', purchased_at: hours(1), is_family_shared: true, ...app('R2', 'm') })
  expect(await stored(user)).toMatchObject({ status: 'none', payments_count: 1, net: '10' })
  await api.call('PATCH', coins.body.url, { body: { refunded_at: hours(2), refunded_amount: '4' } })
  expect(await stored(user)).toMatchObject({ payments_count: 1, gross: '10', net: '6' })
  await api.call('PATCH', coins.body.url, { body: { refunded_at: null } })
  expect(await stored(user)).toMatchObject({ gross: '10', net: '10' })
})

test('a fold of facts that change no sum writes no version of the customer', async () => {
  const user = await userOf(api)
  const post = (event_name: string, more: object = {}) =>
    api.call('POST', '/v4/events', {
      body: {
        events: [
          {
            event_id: `${user}-${event_name}`,
            event_name,
            customer_uid: user,
            happened_at: hours(0),
            platform: 'iOS',
            transaction: { transaction_id: `${user}-1`, expires_at: hours(20_000) },
            ...more,
          },
        ],
      },
    })
  const version = async () => (await api.pool.query<{ xmin: string }>('select xmin::text from users where id = $1', [user])).rows[0]!.xmin
  const fold = () => drainMarks(api.pool, api.project.production, 10_000)
  await post('subscription_started', { price: '5', currency: 'USD' })
  await fold()
  await transaction(api.pool, tx => markStored(tx, api.project.production, [user]))
  const before = await version()
  await fold()
  expect(await version()).toBe(before)
  // A state that has begun since the last version may have been shown by a file of customers: whatever the fold makes of it is a change.
  await transaction(api.pool, async tx => {
    await tx.query('alter table users disable trigger users_changed')
    await tx.query(`update users set changed_at = '2020-01-01T00:00:00Z' where id = $1`, [user])
    await tx.query('alter table users enable trigger users_changed')
  })
  await transaction(api.pool, tx => markStored(tx, api.project.production, [user]))
  const unnoticed = await version()
  await fold()
  expect(await version()).not.toBe(unnoticed)
  await post('in_app_purchase', { price: '3', currency: 'USD', transaction: { transaction_id: `${user}-2` } })
  const posted = await version()
  await fold()
  expect(await version()).not.toBe(posted)
  expect(await stored(user)).toMatchObject({ status: 'active', payments_count: 2, gross: '8', net: '8' })
})

test('whatever was posted, the facts of every user can be folded', async () => {
  await drainMarks(api.pool, api.project.production, 10_000)
  const { rows } = await api.pool.query('select user_no, error from set_aside_users')
  expect(rows).toEqual([])
  expect((await api.pool.query('select 1 from transaction_facts limit 1')).rowCount).toBe(1)
})

/** Leaves 2,600 new users marked, and nobody else. */
async function mark(prefix: string): Promise<void> {
  const environment = api.project.production
  await drainMarks(api.pool, environment, 10_000)
  await api.pool.query(
    `with made as (insert into users (environment, id, created_at, last_seen_at) select $1, $2 || n, now(), now() from generate_series(1, 2600) n
       returning no) insert into stale_users (environment, user_no, sums, since) select $1, no, true, now() - interval '1 hour' from made`,
    [environment, prefix],
  )
}

const GERMANS = { name: 'Germans', conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }] }
async function createSegment(): Promise<string> {
  const { body } = await api.call('POST', '/v4/segments', { body: GERMANS })
  return body.id
}

test.each<[string, string, object | undefined, () => string | Promise<string>]>([
  ['GET', '/v4/customers', undefined, () => '/v4/customers?limit=1'],
  ['POST', '/v4/segments', GERMANS, () => '/v4/segments'],
  ['PUT', '/v4/segments/{id}', GERMANS, async () => `/v4/segments/${await createSegment()}`],
])('%s %s folds 2,000 marked users and says how many are left', async (method, name, body, pathOf) => {
  const path = await pathOf()
  await mark(`${method} ${name} `)
  const behind = async () => {
    const { status, text, headers } = await api.call(method, path, { body })
    expect(status, text).toBeLessThan(300)
    return headers.get('x-facts-behind')
  }
  expect([await behind(), await behind()]).toEqual(['600', null])
})

test('customer metrics fold 2,000 marked users and say how many are left; a read of one user folds this user', async () => {
  const user = await userOf(api)
  await mark('behind-')
  const transaction = { transaction_id: 'behind', expires_at: new Date(Date.now() + 86_400_000).toISOString() }
  const event = {
    event_id: 'behind',
    event_name: 'subscription_started',
    customer_uid: user,
    happened_at: hours(0),
    platform: 'iOS',
    transaction,
  }
  expect((await api.call('POST', '/v4/events', { body: { events: [event] } })).body.created).toBe(1)
  expect((await api.call('GET', `/v4/customers/${user}`)).body.data.customer.status).toBe('active')
  const behind = async () => (await api.call('GET', '/v4/customers/metrics')).headers.get('x-facts-behind')
  expect([await behind(), await behind()]).toEqual(['600', null])
})
