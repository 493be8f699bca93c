// One delivery: its attempts, the request that it makes, and sending it again.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, type HookOptions, hook, must, post, sandbox } from '../harness/integrations.ts'
import { namedKey } from '../harness/named-keys.ts'

let api: TestApi
let call: Client
const hooks: Hook[] = []
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000 })
  call = sandbox(api)
})
afterAll(() => api.stop())
afterEach(async () => {
  for (const { id, receiver } of hooks.splice(0)) {
    await call('DELETE', `/v4/integrations/${id}`)
    await receiver.close()
  }
})

async function made(options: Omit<HookOptions, 'call'> = {}) {
  const created = await hook({ call, config: { events: ['*'] }, ...options })
  hooks.push(created)
  const path = async (nth = 0) => `/v4/integrations/${created.id}/deliveries/${(await created.deliveries())[nth].id}`
  return { ...created, path, show: async (nth?: number) => (await call('GET', await path(nth))).body }
}

test('a delivery shows the request that its attempts made, without secrets and signatures', async () => {
  const token = 'dG9rZW4tb2YtdGhlLXJlY2VpdmVy'
  const one = await made({ settings: { authorization_token: token } })
  await post(call, { event_name: 'opened', properties: { note: token } })
  await one.become('delivered')
  const [listed] = await one.deliveries()
  const { attempts, request, ...shown } = await one.show()
  const [{ same_request, ...attempt }] = attempts
  expect({ ...shown, attempts: [attempt] }).toEqual({ ...listed, replay_id: null, trace_id: null })
  expect(same_request).toBe(true)

  const [sent] = one.receiver.events()
  expect(request).toMatchObject({ method: 'POST', address: one.receiver.url })
  expect(request.headers).toMatchObject({
    'webhook-id': listed.id,
    'webhook-timestamp': '…',
    'webhook-signature': '…',
    authorization: '…',
    'content-type': 'application/json',
  })
  expect(JSON.parse(request.body)).toEqual({ ...sent!.body, event_properties: { note: '…' } })
  expect(JSON.stringify(request)).not.toContain(one.secret)
})

test('an attempt says when what it sent is not what would be sent now, and which were not recorded', async () => {
  const one = await made()
  await post(call, { event_name: 'opened', identity_id: 'grace' })
  await one.become('delivered')
  const { user_id, id } = await one.show()
  await must(call, 'POST', `/v4/users/${user_id}/properties`, { properties: [{ key: '_q_name', value: 'Grace' }] })
  const changed = await one.show()
  expect(changed.attempts.map((attempt: { same_request: boolean }) => attempt.same_request)).toEqual([false])
  expect(JSON.parse(changed.request.body).properties).toMatchObject({ _q_name: 'Grace' })
  // As rows of an earlier version are.
  await api.pool.query(`update deliveries set attempts = jsonb_set(attempts, '{0}', (attempts -> 0) - 'request') where id = $1`, [id])
  expect((await one.show()).attempts[0].same_request).toBeNull()
})

test('the body and the path, which may name the customer, are for keys that may read events and customers', async () => {
  const one = await made()
  await post(call, { event_name: 'opened' })
  await one.become('delivered')
  const project = api.project
  const requestFor = async (...scopes: Parameters<typeof namedKey>[2]) => {
    const { key } = await namedKey(api, project, scopes, { sandbox: true })
    return (await api.call('GET', await one.path(), { key })).body.request
  }
  expect(await requestFor('integrations:read', 'events:read')).toMatchObject({
    body: null,
    address: `${new URL(one.receiver.url).origin}/…`,
  })
  const whole = await requestFor('integrations:read', 'events:read', 'customers:read')
  expect(whole).toMatchObject({ body: expect.stringContaining('"event_name":"opened"'), address: one.receiver.url })
})

test('a resend sends one ended delivery under its id with new attempts, once for one key, in the order of its user', async () => {
  const one = await made()
  await post(call, { event_name: 'a' }, { event_name: 'b' })
  await one.become('delivered', 'delivered')
  const resend = `${await one.path(0)}/resend`
  const headers = { 'Idempotency-Key': one.id }
  const answer = await call('POST', resend, { headers })
  expect([answer.status, answer.body, answer.headers.get('location')]).toEqual([
    202,
    { object: 'operation', url: await one.path(0), message: 'Resend queued', replay_id: expect.stringMatching(/^rpl_/) },
    await one.path(0),
  ])
  await one.become('delivered', 'delivered')
  const again = await call('POST', resend, { headers })
  expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', answer.body])
  const names = one.receiver.events().map(({ body }) => body.event_name)
  expect(names).toEqual(['a', 'b', 'a'])
  expect(await one.show(0)).toMatchObject({ attempt_count: 2, status: 'delivered', replay_id: answer.body.replay_id })
  const { rows } = await api.pool.query(
    `select operation, resource, user_id from audit_log where resource = 'integration_delivery' and resource_id = $1`,
    [(await one.show(0)).id],
  )
  expect(rows).toEqual([
    { operation: 'v4ResendIntegrationDelivery', resource: 'integration_delivery', user_id: (await one.show(0)).user_id },
  ])
})

test('a resend is refused while the delivery is under way, and while the integration is not active', async () => {
  const one = await made()
  one.receiver.script = [{ status: 503 }]
  await post(call, { event_name: 'a' })
  await one.become('retrying')
  const resend = `${await one.path()}/resend`
  expect((await call('POST', resend)).body.error).toMatchObject({ code: 'conflict', message: 'the delivery is under way' })
  await advance(call, 'PT2M')
  await one.become('delivered')
  await one.status(0)
  expect((await call('POST', resend)).body.error).toMatchObject({ code: 'conflict', message: 'the integration is not active' })
  expect((await call('POST', `/v4/integrations/${one.id}/deliveries/dlv_none/resend`)).status).toBe(404)
  const other = await made()
  expect((await call('GET', (await one.path()).replace(one.id, other.id))).status).toBe(404)
})

test('two resends at the same moment send the delivery once', async () => {
  const one = await made()
  await post(call, { event_name: 'a', identity_id: undefined })
  await one.become('delivered')
  await one.receiver.close()
  const resend = `${await one.path()}/resend`
  const answers = await Promise.all([call('POST', resend), call('POST', resend), call('POST', resend)])
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 409, 409])
})

test('the dry run of a replay counts what it would send, and leaves it alone', async () => {
  await advance(call, 'P2D')
  const one = await made()
  await post(call, { event_name: 'a' }, { event_name: 'b' })
  await one.become('delivered', 'delivered')
  const { now } = await must(call, 'GET', '/v4/test-clock')
  const to = new Date(Date.parse(now) + 60_000).toISOString()
  const body = { from: new Date(Date.parse(now) - 3_600_000).toISOString(), to, status: ['delivered', 'missing'] }
  const dry = async (more = {}) =>
    call('POST', `/v4/integrations/${one.id}/replay`, { body: { ...body, ...more }, headers: { 'Dry-Run': 'true' } })
  expect((await dry()).body).toMatchObject({
    status: 202,
    changes: [{ action: 'send', id: one.id, after: { matched: 2, replay_id: null } }],
  })
  // While somebody pauses the integration: the count may take long, and must not stand in the way.
  const pausing = await api.pool.connect()
  await pausing.query('begin')
  await pausing.query('select 1 from integrations where id = $1 for update', [one.id])
  expect((await dry({ events: ['a'] })).body.changes[0].after.matched).toBe(1)
  await pausing.query('rollback')
  pausing.release()
  expect((await one.deliveries()).map(({ status, attempt_count }) => [status, attempt_count])).toEqual([
    ['delivered', 1],
    ['delivered', 1],
  ])
})
