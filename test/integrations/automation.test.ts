import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'
import { until } from '../harness/until.ts'

let api: TestApi
let call: Client
let made: Hook
let automation: string
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
})
afterAll(() => api.stop())
afterEach(async () => {
  await call('PATCH', `/v4/automations/${automation}/status`, { body: { status: 'inactive' } })
  await call('DELETE', `/v4/integrations/${made.id}`)
  await made.receiver.close()
})

/** An automation that sends a webhook when somebody signs up; the integration itself takes no events. */
async function begin(): Promise<void> {
  made = await hook({ call, config: { events: [] } })
  const steps = [{ id: 'tell', type: 'webhook', integration_id: made.id }]
  const data = { initiators: [{ uid: 'signed_up', type: 'event' }], actions: {}, steps }
  automation = (await must(call, 'POST', '/v4/automations', { name: 'Tell', status: 'active', data })).id
}
const signUp = () => post(call, { event_name: 'signed_up', price: undefined, currency: undefined })
const run = async () => (await must(call, 'GET', `/v4/automations/${automation}/runs`)).data[0]
const ended = (status: string) => until(`a run that is ${status}`, async () => ((await run())?.status === status ? run() : undefined))

test("a webhook step sends its delivery, and the delivery's end lets the run go on", async () => {
  await begin()
  const [event] = await signUp()
  const { id } = await ended('succeeded')
  const [delivery, ...more] = await made.deliveries()
  expect(more).toEqual([])
  expect(delivery).toMatchObject({ source: 'automation', run_id: id, event_id: event, event_name: 'signed_up', status: 'delivered' })
  expect(made.receiver.events()).toMatchObject([
    {
      headers: { 'webhook-id': delivery.id },
      body: { event_name: 'signed_up', automation: { id: automation, version: 1, run_id: id, step_id: 'tell' } },
    },
  ])
})

test('it stands in nobody’s order: what the user’s events wait for does not hold it up', async () => {
  await begin()
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, {
    settings: { url: made.receiver.url, sandbox_url: made.receiver.url },
    events: ['*'],
  })
  made.receiver.script = [{ status: 500 }]
  await post(call, { event_name: 'first', price: undefined, currency: undefined })
  await made.become('retrying')
  await signUp()
  await ended('succeeded')
  expect((await made.deliveries()).map(({ event_name, source, status }) => `${event_name} ${source} ${status}`).sort()).toEqual([
    'first event retrying',
    'signed_up automation delivered',
    'signed_up event pending',
  ])
})

test('held while the integration is paused, and probed while it is in error', async () => {
  await begin()
  made.receiver.script = [{ status: 410 }]
  await signUp()
  expect(await ended('failed')).toMatchObject({ status: 'failed' })
  expect((await made.deliveries())[0]).toMatchObject({ status: 'failed', reason: 'gone' })
  await signUp()
  await made.become('failed', 'held')
  await advance(call, 'PT10M')
  await made.status(1)
  await made.become('failed', 'delivered')
  expect((await ended('succeeded')).status).toBe('succeeded')
})

test('a run whose integration is deleted learns of it at once', async () => {
  await begin()
  await made.status(0)
  await signUp()
  await made.become('held')
  expect((await call('DELETE', `/v4/integrations/${made.id}`)).status).toBe(409)
  // The next version does not name it any more; the run keeps the one that it began with.
  await must(call, 'PUT', `/v4/automations/${automation}`, {
    name: 'Tell',
    status: 'active',
    data: { initiators: [{ uid: 'signed_up', type: 'event' }], actions: {}, steps: [{ id: 'end', type: 'exit' }] },
  })
  expect((await call('DELETE', `/v4/integrations/${made.id}`)).status).toBe(204)
  expect(await ended('failed')).toMatchObject({ status: 'failed' })
})
