import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { hook, post, sandbox } from '../harness/integrations.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true })
})
afterAll(() => api.stop())

test('an event goes out once, signed, under the id of its delivery', async () => {
  const call = sandbox(api)
  const made = await hook({ call, settings: { authorization_token: 'dG9rZW4=' } })
  const [event] = await post(call, { event_name: 'trial_started', price: undefined, currency: undefined })
  await made.become('delivered')
  const [delivery] = await made.deliveries()
  expect(delivery).toMatchObject({ event_id: event, event_name: 'trial_started', source: 'event', attempt_count: 1, reason: null })
  const [received, ...more] = made.receiver.events()
  expect(more).toEqual([])
  expect(received!.headers).toMatchObject({
    'webhook-id': delivery.id,
    authorization: 'Basic dG9rZW4=',
    'content-type': 'application/json',
    accept: 'application/json',
    'user-agent': 'Perennial-Webhooks/1',
  })
  expect(new Webhook(made.secret).verify(received!.text, received!.headers as Record<string, string>)).toEqual(received!.body)
  expect(received!.body).toMatchObject({
    event_name: 'trial_started',
    environment: 'sandbox',
    identity_id: 'ada',
    revenue: null,
    price: null,
  })
  expect(received!.body).not.toHaveProperty('test')
  await made.receiver.close()
})
