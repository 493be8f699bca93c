import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, type HookOptions, hook, must, post, sandbox } from '../harness/integrations.ts'
import { OK, times } from '../harness/receiver.ts'

let api: TestApi
let call: Client
const hooks: Hook[] = []
const another = async (options: Partial<HookOptions> = {}) => {
  const made = await hook({ call, ...options })
  hooks.push(made)
  return made
}
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
})
afterAll(() => api.stop())
// The sandbox is one: what a test leaves active would take the events of the next.
afterEach(async () => {
  for (const { id, receiver } of hooks.splice(0)) {
    await call('DELETE', `/v4/integrations/${id}`)
    await receiver.close()
  }
})

const ids = (made: Hook) => made.receiver.events().map(({ headers }) => headers['webhook-id'])
const people = (count: number) => Array.from({ length: count }, (_, i) => ({ identity_id: `person-${i}` }))

test('a delivery that failed is tried again after the waits of the policy, and fails for good after seven attempts', async () => {
  const made = await another()
  made.receiver.otherwise = { status: 500, text: 'no' }
  await post(call, {})
  await made.become('retrying')
  for (const by of ['PT2M', 'PT6M', 'PT34M', 'PT133M', 'PT400M']) await advance(call, by)
  await made.become('retrying')
  expect(ids(made)).toHaveLength(6)
  await advance(call, 'PT14H')
  await made.become('failed')
  const [delivery] = await made.deliveries()
  expect(delivery).toMatchObject({ reason: 'exhausted', attempt_count: 7, next_attempt_at: null })
  expect(delivery.attempts.map((attempt: object) => attempt)).toHaveLength(7)
  expect(delivery.attempts[6]).toMatchObject({ number: 7, http_status: 500, error: 'http_500', response: 'no' })
  expect(new Set(ids(made)).size).toBe(1)
  expect(await made.show()).toMatchObject({ active: 1, delivery_error_count: 7, last_error_message: 'http_500', last_delivery_at: null })
})

test('a worker that does not know the destination leaves the delivery with all of its attempts to one that does', async () => {
  const made = await another()
  const become = (slug: string) => api.pool.query('update integrations set slug = $2 where id = $1', [made.id, slug])
  made.receiver.script = [{ status: 500 }]
  await post(call, {})
  await made.become('retrying')
  await become('of_a_later_version')
  await advance(call, 'PT3M')
  expect(await made.deliveries()).toMatchObject([{ status: 'retrying', attempt_count: 1 }])
  await become('webhooks')
  await advance(call, 'PT2M')
  await made.become('delivered')
  expect(await made.deliveries()).toMatchObject([{ attempt_count: 2 }])
})

test('Retry-After takes the place of the wait', async () => {
  const made = await another()
  made.receiver.script = [{ status: 503, retryAfter: '7200' }]
  await post(call, {})
  await made.become('retrying')
  await advance(call, 'PT119M')
  await made.become('retrying')
  await advance(call, 'PT2M')
  await made.become('delivered')
})

test('ten failures in a row hold everything; a probe every five minutes finds out when it works again, in order', async () => {
  const made = await another()
  made.receiver.otherwise = { status: 500 }
  await post(call, ...people(10), { identity_id: 'person-3' })
  await made.become(...Array(11).fill('held'))
  expect(await made.show()).toMatchObject({ active: 2, delivery_error_count: 10 })
  const all = await made.deliveries()
  const second = all.find(({ attempt_count }) => attempt_count === 0)
  const first = all.find(({ user_id, id }) => user_id === second.user_id && id !== second.id)
  expect(all.filter(({ attempt_count }) => attempt_count === 1)).toHaveLength(10)
  await post(call, { identity_id: 'late' })

  await advance(call, 'PT11M')
  expect(ids(made)).toHaveLength(12)
  const late = (await made.deliveries()).at(-1)
  expect(ids(made)[10]).toBe(late.id)
  expect(ids(made)[11]).not.toBe(late.id)
  expect(late).toMatchObject({ status: 'held', attempt_count: 0 })

  made.receiver.otherwise = OK
  await advance(call, 'PT5M')
  await made.become(...Array(12).fill('delivered'))
  expect(await made.show()).toMatchObject({ active: 1, delivery_error_count: 0 })
  expect(ids(made).lastIndexOf(first.id)).toBeLessThan(ids(made).indexOf(second.id))
})

test('an address that is gone puts the integration into error and is not probed', async () => {
  const made = await another()
  made.receiver.script = [{ status: 410 }]
  await post(call, { identity_id: 'first' })
  await made.become('failed')
  expect((await made.deliveries())[0]).toMatchObject({ reason: 'gone', attempt_count: 1 })
  expect(await made.show()).toMatchObject({ active: 2 })
  await post(call, { identity_id: 'second' })
  await made.become('failed', 'held')
  await advance(call, 'PT30M')
  expect(made.receiver.events()).toHaveLength(1)
  await made.status(1)
  await made.become('failed', 'delivered')
})

test('paused: deliveries are made and held, and go out when it is active again', async () => {
  const made = await another()
  await made.status(0)
  const events = await post(call, { event_name: 'one' }, { event_name: 'two' }, { event_name: 'three', identity_id: 'bob' }, {})
  expect(events).toHaveLength(4)
  await made.become('held')
  await advance(call, 'P10D')
  expect(made.receiver.events()).toEqual([])
  await made.status(1)
  await made.become('delivered')
})

test('what is held for thirty days expires', async () => {
  const made = await another()
  await made.status(0)
  await post(call, {}, {}, { identity_id: 'bob' })
  await made.become('held', 'held', 'held')
  await advance(call, 'P29DT23H')
  await made.become('held', 'held', 'held')
  await advance(call, 'PT2H')
  await made.become('failed', 'failed', 'failed')
  expect((await made.deliveries()).map(({ reason }) => reason)).toEqual(['expired', 'expired', 'expired'])
  expect(made.receiver.events()).toEqual([])
})

test('deleting the integration fails what is open', async () => {
  const made = await another()
  made.receiver.otherwise = { status: 500 }
  await post(call, {}, {})
  await made.become('retrying', 'pending')
  const { id } = made
  expect((await call('DELETE', `/v4/integrations/${id}`)).status).toBe(204)
  expect((await call('GET', `/v4/integrations/${id}/deliveries`)).status).toBe(404)
  const { rows } = await api.pool.query(
    `select d.status, d.reason, (select count(*)::int from due where kind = 'delivery' and id = d.number) as jobs
     from deliveries d join integrations i on i.number = d.integration where i.id = $1 order by d.number`,
    [id],
  )
  expect(rows).toEqual(Array(2).fill({ status: 'failed', reason: 'integration_deleted', jobs: 0 }))
  await advance(call, 'P1D')
  expect(made.receiver.events()).toHaveLength(1)
})

test('a success forgets the failures before it', async () => {
  const made = await another()
  made.receiver.script = [...times(9, { status: 500 }), OK, ...times(9, { status: 500 })]
  await post(call, ...people(9))
  await made.become(...Array(9).fill('retrying'))
  await post(call, { identity_id: 'good' })
  await made.become(...Array(9).fill('retrying'), 'delivered')
  expect(await made.show()).toMatchObject({ active: 1, delivery_error_count: 0 })
  await advance(call, 'PT2M')
  expect(await made.show()).toMatchObject({ active: 1, delivery_error_count: 9 })
  await advance(call, 'PT10M')
  await made.become(...Array(10).fill('delivered'))
  await must(call, 'POST', `/v4/integrations/${made.id}/status`, { status: 0 })
})
