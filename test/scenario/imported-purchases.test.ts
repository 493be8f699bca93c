import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Hook, hook, must, sandbox } from '../harness/integrations.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'
import { until } from '../harness/until.ts'

// An import of purchases: nobody is greeted, no vendor gets last year's revenue again.

let api: TestApi
let key: string
let vendor: Hook
let automation: { id: string }
beforeAll(async () => {
  api = await startApi({ worker: true })
  key = api.project.sandbox
  await product(api, { id: 'monthly', stripe_product_id: 'm' }, key)
  vendor = await hook({ call: sandbox(api), platform: 'Stripe' })
  await vendor.status(1)
  const data = {
    initiators: ['subscription_started', 'subscription_expired'].map(uid => ({ uid, type: 'event' })),
    steps: [{ id: 'd', type: 'delay', duration: 'PT1S' }],
  }
  automation = await must(sandbox(api), 'POST', '/v4/automations', { name: 'A', status: 'active', data })
})
afterAll(async () => {
  await vendor.receiver.close()
  await api.stop()
})

const now = async () => Date.parse((await api.call('GET', '/v4/test-clock', { key })).body.now)
const started = async () => (await must(sandbox(api), 'GET', `/v4/automations/${automation.id}/runs?limit=100`)).data.length as number
const advance = (by: string) => must(sandbox(api), 'POST', '/v4/test-clock/advance', { by })

test('a backfill and facts older than 72 h start no automation and go to no integration; what happens later does', async () => {
  const user = await userOf(api, key)
  const at = await now()
  const begun = (hours: number, subscription_id: string, more: object = {}) => {
    const times = { purchased_at: new Date(at - hours * 3_600_000).toISOString(), expires_at: new Date(at + 5 * 86_400_000).toISOString() }
    return purchaseOf(
      api,
      user,
      { ...times, is_auto_renewing: true, stripe_store_data: { subscription_id, product_id: 'm' }, ...more },
      key,
    )
  }
  // The events of one user are in one partition: when the last one has arrived, the earlier ones were read.
  expect((await begun(1, 'told-not', { trigger: false })).status).toBe(201)
  expect((await begun(73, 'too-old')).status).toBe(201)
  const fresh = await begun(71, 'fresh')
  await until('the delivery', async () => vendor.receiver.events()[0])
  await until('the run', async () => ((await started()) > 0 ? true : undefined))
  const { rows } = await api.pool.query(
    'select original_transaction_id as lineage, triggers from events where user_id = $1 order by log_offset',
    [user],
  )
  expect(rows).toEqual([
    { lineage: 'told-not', triggers: false },
    { lineage: 'too-old', triggers: false },
    { lineage: 'fresh', triggers: true },
  ])
  expect(vendor.receiver.events()).toHaveLength(1)
  expect(await started()).toBe(1)

  // A refund of long ago is history, today's is news.
  const patch = (refunded_at: number, refunded_amount: string) =>
    must(sandbox(api), 'PATCH', fresh.body.url, { refunded_at: new Date(refunded_at).toISOString(), refunded_amount })
  await patch(at - 70 * 3_600_000, '1')
  await advance('PT4H')
  await patch(at - 70 * 3_600_000, '2')
  const refunds = await api.pool.query(
    `select triggers from events where user_id = $1 and name = 'subscription_refunded' order by log_offset`,
    [user],
  )
  expect(refunds.rows).toEqual([{ triggers: true }, { triggers: false }])

  await advance('P7D')
  const ends = await api.pool.query(`select triggers from events where user_id = $1 and name = 'subscription_expired'`, [user])
  expect(ends.rows).toEqual([{ triggers: true }, { triggers: true }, { triggers: true }])
  expect(await started()).toBe(4)
})
