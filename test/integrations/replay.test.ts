import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { problemOf } from '../../api/errors.ts'
import { replayDeliveries } from '../../domain/integrations/deliveries/replay.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'
import { OK } from '../harness/receiver.ts'

let api: TestApi
let call: Client
let made: Hook
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 15_000 })
  call = sandbox(api)
})
afterAll(() => api.stop())
afterEach(async () => {
  await call('DELETE', `/v4/integrations/${made.id}`)
  await made.receiver.close()
})

const names = () => made.receiver.events().map(({ body }) => body.event_name)
const now = async (): Promise<string> => (await must(call, 'GET', '/v4/test-clock')).now
const replay = async (fields: Record<string, unknown> = {}) => {
  const to = new Date(Date.parse(await now()) + 60_000).toISOString()
  const from = new Date(Date.parse(to) - 24 * 3_600_000).toISOString()
  return call('POST', `/v4/integrations/${made.id}/replay`, { body: { from, to, ...fields } })
}
const CUSTOM = { events: ['*'] }

test('failed and delivered ones go out again under their ids, with fresh attempts, in the order of the log', async () => {
  await advance(call, 'P2D')
  made = await hook({ call, config: CUSTOM })
  await post(call, { event_name: 'a' }, { event_name: 'b' }, { event_name: 'c' })
  await made.become('delivered', 'delivered', 'delivered')
  const ids = (await made.deliveries()).map(({ id }) => id)
  expect((await replay()).body).toMatchObject({ matched: 0 })
  const answer = await replay({ status: ['delivered'], events: ['a', 'c'] })
  expect([answer.status, answer.body, answer.headers.get('location')]).toEqual([
    202,
    {
      object: 'operation',
      url: `/v4/integrations/${made.id}/deliveries`,
      message: 'Replay queued',
      matched: 2,
      replay_id: expect.stringMatching(/^rpl_[0-9a-z]{20}$/),
    },
    `/v4/integrations/${made.id}/deliveries`,
  ])
  await made.become('delivered', 'delivered', 'delivered')
  expect(names()).toEqual(['a', 'b', 'c', 'a', 'c'])
  expect(made.receiver.events().map(({ headers }) => headers['webhook-id'])).toEqual([...ids, ids[0], ids[2]])
  expect((await made.deliveries()).map(({ attempt_count }) => attempt_count)).toEqual([2, 1, 2])
})

test('the list of deliveries can be filtered by the last replay that opened or created them', async () => {
  made = await hook({ call, config: { events: ['first'] } })
  await post(call, { event_name: 'first' }, { event_name: 'later' })
  await made.become('delivered')
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, {
    settings: { url: made.receiver.url, sandbox_url: made.receiver.url },
    events: ['*'],
  })
  const of = async (answer: Awaited<ReturnType<typeof replay>>): Promise<string[]> =>
    (await made.deliveries(`&filter[replay_id]=${answer.body.replay_id}`)).map(({ event_name }) => event_name)
  const all = await replay({ status: ['delivered', 'missing'], events: ['first', 'later'] })
  expect(all.body.matched).toBe(2)
  expect((await of(all)).sort()).toEqual(['first', 'later'])
  await made.become('delivered', 'delivered')
  const one = await replay({ status: ['delivered'], events: ['first'] })
  expect([await of(one), await of(all)]).toEqual([['first'], ['later']])
  const none = await replay({ events: ['first'] })
  expect([none.body.matched, await of(none)]).toEqual([0, []])
  await made.become('delivered', 'delivered')
})

test('a window with more than one request sends is refused with 422, and nothing of it is sent', async () => {
  await advance(call, 'P2D')
  made = await hook({ call, config: { events: ['b'] } })
  await post(call, { event_name: 'a' }, { event_name: 'b' }, { event_name: 'b' }, { event_name: 'a' })
  await made.become('delivered', 'delivered')
  const settings = { url: made.receiver.url, sandbox_url: made.receiver.url }
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, { settings, events: ['a', 'b'] })
  const { rows } = await api.pool.query(`select environment from integrations where id = $1`, [made.id])
  const to = new Date(Date.parse(await now()) + 60_000).toISOString()
  const from = new Date(Date.parse(to) - 24 * 3_600_000).toISOString()
  const most = (count: number, ...statuses: ('delivered' | 'missing')[]) =>
    transaction(api.pool, tx =>
      replayDeliveries(tx, rows[0].environment, made.id, { id: 'rpl_any', from, to, events: null, statuses, days: 30 }, count),
    )
  const refused = { code: 'replay_limit_exceeded', details: [{ field: 'to' }] }
  await expect(most(1, 'delivered')).rejects.toMatchObject(refused)
  expect(problemOf(await most(1, 'delivered').catch(error => error)).status).toBe(422)
  await expect(most(1, 'missing')).rejects.toMatchObject(refused)
  await expect(most(3, 'missing', 'delivered')).rejects.toMatchObject(refused)
  expect((await made.deliveries()).map(({ status }) => status)).toEqual(['delivered', 'delivered'])
  expect(await most(4, 'missing', 'delivered')).toBe(4)
  await made.become('delivered', 'delivered', 'delivered', 'delivered')
})

test('one that is exhausted gets seven more attempts', async () => {
  await advance(call, 'P2D')
  made = await hook({ call, config: CUSTOM })
  made.receiver.otherwise = { status: 500 }
  await post(call, { event_name: 'a' })
  await made.become('retrying')
  await advance(call, 'P2D')
  await made.become('failed')
  const from = new Date(Date.parse(await now()) - 3 * 86_400_000).toISOString()
  expect((await replay({ from })).body).toMatchObject({ matched: 1 })
  await made.become('retrying')
  await made.status(1)
  made.receiver.otherwise = OK
  await advance(call, 'PT2M')
  await made.become('delivered')
  expect((await made.deliveries())[0]).toMatchObject({ attempt_count: 9, reason: null })
})

test('missing: events since the start that the configuration did not select then', async () => {
  await advance(call, 'P2D')
  await post(call, { event_name: 'before' })
  made = await hook({ call, config: { events: ['b'] } })
  await post(call, { event_name: 'a' }, { event_name: 'b' }, { event_name: 'c' })
  await made.become('delivered')
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, {
    settings: { url: made.receiver.url, sandbox_url: made.receiver.url },
    ...CUSTOM,
  })
  expect((await replay({ status: ['missing'] })).body).toMatchObject({ matched: 2 })
  await made.become('delivered', 'delivered', 'delivered')
  expect(names()).toEqual(['b', 'a', 'c'])
  expect((await replay({ status: ['missing'] })).body).toMatchObject({ matched: 0 })
  expect((await replay({ status: ['missing', 'delivered'] })).body).toMatchObject({ matched: 3 })
  await made.become('delivered', 'delivered', 'delivered')
  expect(names().slice(3)).toEqual(['a', 'b', 'c'])
})

test('failed and missing ones together keep the order of the log', async () => {
  await advance(call, 'P2D')
  made = await hook({ call, config: { events: ['b', 'd'] } })
  await post(call, { event_name: 'a' }, { event_name: 'b' }, { event_name: 'c' }, { event_name: 'd' })
  await made.become('delivered', 'delivered')
  await must(call, 'PUT', `/v4/integrations/${made.id}/config`, {
    settings: { url: made.receiver.url, sandbox_url: made.receiver.url },
    ...CUSTOM,
  })
  expect((await replay({ status: ['missing', 'delivered'] })).body).toMatchObject({ matched: 4 })
  await made.become('delivered', 'delivered', 'delivered', 'delivered')
  expect(names()).toEqual(['b', 'd', 'a', 'b', 'c', 'd'])
})

test('what happens meanwhile waits for its turn', async () => {
  await advance(call, 'P2D')
  made = await hook({ call, config: CUSTOM })
  await post(call, { event_name: 'a' }, { event_name: 'b' })
  await made.become('delivered', 'delivered')
  made.receiver.script = [{ status: 500 }]
  await post(call, { event_name: 'c' })
  await made.become('delivered', 'delivered', 'retrying')
  expect((await replay({ status: ['delivered'] })).body).toMatchObject({ matched: 2 })
  await post(call, { event_name: 'd' })
  await made.become('pending', 'pending', 'retrying', 'pending')
  await advance(call, 'PT2M')
  await made.become('delivered', 'delivered', 'delivered', 'delivered')
  expect(names()).toEqual(['a', 'b', 'c', 'c', 'a', 'b', 'd'])
})

test('refused: not active, a window that is empty or too long, an event type that there is not', async () => {
  made = await hook({ call, config: CUSTOM })
  const from = '2026-03-01T00:00:00Z'
  expect((await replay({ from, to: from })).body.error).toMatchObject({ details: [{ field: 'to' }] })
  expect((await replay({ from, to: '2026-04-01T00:00:01Z' })).body.error).toMatchObject({ details: [{ field: 'to' }] })
  expect((await replay({ from, to: '2026-04-01T00:00:00Z' })).status).toBe(202)
  expect((await replay({ events: ['99'] })).body.error).toMatchObject({ details: [{ field: 'events[0]' }] })
  await made.status(0)
  expect((await replay()).status).toBe(409)
})
