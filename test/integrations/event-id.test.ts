import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadTriggers } from '../../domain/automations/automation-runs/trigger.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Hook, hook, post, sandbox } from '../harness/integrations.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'

let api: TestApi
let made: Hook
beforeAll(async () => {
  api = await startApi({ worker: true })
  made = await hook({ call: sandbox(api), config: { events: ['*', 'subscription_started'] } })
})
afterAll(async () => {
  await api.stop()
  await made.receiver.close()
})

test('the event id of a webhook is the id of the caller, else the public id of the event, and never an inner key', async () => {
  const key = api.project.sandbox
  await product(api, { id: 'monthly', apple_product_id: 'com.example.monthly' }, key)
  const user = await userOf(api, key)
  const purchased_at = new Date(Date.now() - 60_000).toISOString()
  await purchaseOf(api, user, { purchased_at, app_store_data: { transaction_id: 't-1', product_id: 'com.example.monthly' } }, key)
  const [posted] = await post(sandbox(api), { event_id: 'order-1', event_name: 'custom' })
  await made.become('delivered', 'delivered')
  const { rows } = await api.pool.query<{ environment: number; partition: number; log_offset: number; id: string; user_id: string }>(
    'select environment, partition, log_offset, id, user_id from events order by id',
  )
  const emitted = rows.find(({ id }) => id !== posted)!
  const received = made.receiver.events().map(({ body }) => [body.event_name, body.event_id])
  expect(received.sort()).toEqual([
    ['custom', 'order-1'],
    ['subscription_started', emitted.id],
  ])
  // The same for the texts and conditions of automations.
  const [trigger] = await loadTriggers(api.pool, [emitted])
  expect(trigger!.event.event_id).toBe(emitted.id)
})
