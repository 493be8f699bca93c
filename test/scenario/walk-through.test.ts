import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, must, sandbox } from '../harness/integrations.ts'
import { launch } from '../harness/process.ts'
import { until } from '../harness/until.ts'

// The walk-through of the docs (docs/walk-through.md). Its receiver is a separate process that verifies every request.

let api: TestApi
let call: Client
let hook: { id: string }
let automation: { id: string }
let receiver: ReturnType<typeof launch>
let address = ''
const secret = `whsec_${randomBytes(32).toString('base64')}`

const lines = (beginning: string) =>
  receiver
    .output()
    .split('\n')
    .filter(line => line.startsWith(beginning))
const idOf = (line: string | undefined) => /webhook-id (\S+)$/.exec(line ?? '')?.[1]

beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
  receiver = launch({ env: { SIGNING_SECRET: secret, PORT: '0' }, script: 'examples/webhook-receiver.ts' })
  address = await until('the receiver to listen', async () => /^receiver: (\S+)\n/m.exec(receiver.output())?.[1], 20_000)
  hook = await must(call, 'POST', '/v4/integrations', { title: 'Win back', integration: 'webhooks', target_platform: 'iOS' })
  const settings = { sandbox_url: address, signing_secret: secret }
  await must(call, 'PUT', `/v4/integrations/${hook.id}/config`, { settings, events: [] })
  await must(call, 'POST', `/v4/integrations/${hook.id}/status`, { status: 1 })
  const steps = [
    {
      id: 'stays',
      type: 'wait_for_event',
      event: ['trial_uncanceled', 'trial_converted', 'subscription_started', 'subscription_renewed'],
      timeout: 'P2D',
      on_timeout: [{ id: 'tell', type: 'webhook', integration_id: hook.id }],
    },
  ]
  const data = { initiators: [{ uid: 'trial_canceled', type: 'event' }], actions: {}, steps }
  automation = await must(call, 'POST', '/v4/automations', { name: 'A trial is cancelled', status: 'active', data })
  const product = { id: 'monthly', type: 'subscription_with_promo', duration: 'P1M', apple_product_id: 'com.example.monthly' }
  await must(call, 'POST', '/v4/products', product)
})
afterAll(async () => {
  await receiver.end()
  await api.stop()
})

const now = async () => Date.parse((await must(call, 'GET', '/v4/test-clock')).now)
const time = (at: number) => new Date(at).toISOString()
const charge = async (user: string, lineage: string, number: number, price: string, begins: number, days: number) =>
  must(call, 'POST', `/v4/users/${user}/purchases`, {
    price,
    currency: 'USD',
    purchased_at: time(begins),
    expires_at: time(begins + days * 86_400_000),
    app_store_data: {
      transaction_id: `${lineage}-${number}`,
      original_transaction_id: `${lineage}-1`,
      product_id: 'com.example.monthly',
    },
  })

/** Records a trial and its cancellation a moment later; returns the user and the start of the trial. */
async function cancelledTrial(lineage: string) {
  const user: string = (await must(call, 'POST', '/v4/users', { environment: 'sandbox' })).id
  const start = await now()
  const { id } = await charge(user, lineage, 1, '0', start, 7)
  await must(call, 'PATCH', `/v4/users/${user}/purchases/${id}`, { is_auto_renewing: false })
  return { user, start, purchase: id as string }
}
const runsOf = async (user: string) => {
  const { data } = await must(call, 'GET', `/v4/automations/${automation.id}/runs?filter[user_id]=${user}`)
  expect(data).toHaveLength(1)
  return must(call, 'GET', data[0].url)
}
const deliveries = async () => (await must(call, 'GET', `/v4/integrations/${hook.id}/deliveries`)).data
async function ledger(from: number) {
  const { data } = await must(call, 'GET', `/v4/ledger?from=${time(from)}`)
  return Object.fromEntries(data.map(({ kind, ...entry }: { kind: string }) => [kind, entry]))
}

test('a cancelled trial without renewal sends exactly one signed webhook, two days later', async () => {
  const { user, start } = await cancelledTrial('anna')
  await advance(call, 'P1D')
  expect(await runsOf(user)).toMatchObject({ status: 'waiting', current_step: 'stays' })
  expect(await deliveries()).toEqual([])
  expect(lines('verified')).toEqual([])

  expect(await advance(call, 'P2D')).toMatchObject({ outstanding: 0, drained: { automation_runs: 1, deliveries: 1 } })
  const [delivery, ...more] = await deliveries()
  expect(more).toEqual([])
  expect(delivery).toMatchObject({
    event_name: 'trial_canceled',
    user_id: user,
    source: 'automation',
    status: 'delivered',
    attempt_count: 1,
  })
  const run = await runsOf(user)
  expect(run).toMatchObject({
    status: 'succeeded',
    steps: [
      { step_id: 'stays', status: 'succeeded', result: { outcome: 'timeout', event_id: null } },
      { step_id: 'tell', status: 'succeeded', result: { delivery_id: delivery.id, http_status: 200 } },
    ],
  })
  const [began, due, done] = [run.steps[0].started_at, run.steps[0].due_at, run.steps[0].finished_at].map(Date.parse)
  expect(due! - began!).toBe(2 * 86_400_000)
  expect(done! - due!).toBeGreaterThanOrEqual(0)
  expect(done! - due!).toBeLessThan(10_000)
  // The output of another process arrives with a delay.
  await expect.poll(() => lines('verified').map(idOf), { timeout: 30_000 }).toEqual([delivery.id])
  expect(receiver.output()).toContain(`"user_id": "${user}"`)

  expect(await advance(call, 'P20D')).toMatchObject({ outstanding: 0, drained: { automation_runs: 0, deliveries: 0 } })
  expect(lines('verified').map(idOf)).toEqual([delivery.id])
  expect(lines('again')).toEqual([])
  expect(await deliveries()).toEqual([delivery])
  expect(await ledger(start)).toMatchObject({
    automation_runs: { promised: 1, kept: 1, outstanding: 0 },
    deliveries: { promised: 1, kept: 1, outstanding: 0 },
  })
})

type Cancelled = Awaited<ReturnType<typeof cancelledTrial>>
const stays: [name: string, (of: Cancelled) => Promise<unknown>][] = [
  [
    'switches auto-renew on again',
    ({ user, purchase }) => must(call, 'PATCH', `/v4/users/${user}/purchases/${purchase}`, { is_auto_renewing: true }),
  ],
  ['pays', async ({ user }) => charge(user, 'pays', 2, '9.99', await now(), 30)],
]
test.each(stays)('a user who %s within the two days ends the wait, and nothing is sent', async (name, stay) => {
  const before = lines('verified')
  const known = await deliveries()
  const cancelled = await cancelledTrial(name)
  const { user, start } = cancelled
  await advance(call, 'PT1H')
  expect(await runsOf(user)).toMatchObject({ status: 'waiting' })
  await stay(cancelled)
  expect(await advance(call, 'P3D')).toMatchObject({ outstanding: 0, drained: { deliveries: 0 } })
  const run = await runsOf(user)
  expect(run).toMatchObject({
    status: 'succeeded',
    steps: [{ step_id: 'stays', status: 'succeeded', result: { outcome: 'event', event_id: expect.stringMatching(/^evt_/) } }],
  })
  expect(run.steps).toHaveLength(1)
  expect(await deliveries()).toEqual(known)
  expect(lines('verified')).toEqual(before)
  expect(await ledger(start)).toMatchObject({ automation_runs: { promised: 1, kept: 1 }, deliveries: { promised: 0 } })
})

test('the receiver refuses a request without a valid signature', async () => {
  const forged = await fetch(address, {
    method: 'POST',
    headers: { 'webhook-id': 'dlv_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)), 'webhook-signature': 'v1,AAAA' },
    body: '{"event_name": "trial_canceled"}',
  })
  expect(forged.status).toBe(401)
  await expect.poll(() => lines('refused'), { timeout: 30_000 }).toHaveLength(1)
})
