import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { advance, type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'

let api: TestApi
let call: Client
let made: Hook
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
  made = await hook({ call, config: { events: ['*'] } })
  await post(call, { event_name: 'a' })
  await made.become('delivered')
  await advance(call, 'PT1H')
  made.receiver.otherwise = { status: 503, text: 'x'.repeat(3000) }
  await post(call, { event_name: 'b' }, { event_name: 'a' })
  await made.become('delivered', 'retrying', 'pending')
  await post(call, { event_name: 'b', identity_id: undefined })
  await made.become('delivered', 'retrying', 'pending', 'retrying')
})
afterAll(async () => {
  await api.stop()
  await made.receiver.close()
})

const listed = async (query: string): Promise<string[]> =>
  (await made.deliveries(query)).map(({ event_name, status }) => `${event_name} ${status}`)

test('filters: values of one are alternatives, different ones must all hold', async () => {
  const [first, second] = await made.deliveries()
  expect(await listed('&filter[status][]=delivered&filter[status][]=pending')).toEqual(['a delivered', 'a pending'])
  expect(await listed('&filter[event_name][]=b')).toEqual(['b retrying', 'b retrying'])
  expect(await listed(`&filter[user_id]=${first.user_id}&filter[status][]=retrying`)).toEqual(['b retrying'])
  expect(await listed(`&to=${second.created_at}`)).toEqual(['a delivered'])
  expect(await listed(`&from=${second.created_at}&filter[event_name][]=a`)).toEqual(['a pending'])
  expect(await listed('&filter[status][]=held')).toEqual([])
})

test('what is open is held while the integration is not active', async () => {
  await made.status(0)
  expect(await listed('&filter[status][]=held')).toEqual(['b held', 'a held', 'b held'])
  expect(await listed('&filter[status][]=retrying&filter[status][]=pending')).toEqual([])
  expect((await made.deliveries()).map(({ next_attempt_at }) => next_attempt_at)).toEqual([null, null, null, null])
  await made.status(1)
})

test('an attempt tells when, how long, and what came back', async () => {
  const [, retrying] = await made.deliveries()
  const [attempt] = retrying.attempts
  // In whole seconds, in which of them is a matter of chance.
  const after = Date.parse(attempt.started_at) - Date.parse(retrying.created_at)
  expect(after).toBeGreaterThanOrEqual(0)
  expect(after).toBeLessThan(60_000)
  expect(attempt).toEqual({
    number: 1,
    started_at: attempt.started_at,
    duration_ms: expect.any(Number),
    http_status: 503,
    error: 'http_503',
    response: 'x'.repeat(1024),
  })
})

test('pages go on where the one before ended', async () => {
  const path = `/v4/integrations/${made.id}/deliveries`
  const seen: string[] = []
  for (let after = ''; ; ) {
    const { data, has_more, next_cursor } = await must(call, 'GET', `${path}?limit=1${after}`)
    seen.push(...data.map(({ id }: { id: string }) => id))
    if (!has_more) break
    after = `&starting_after=${next_cursor}`
  }
  expect(seen).toEqual((await made.deliveries()).map(({ id }) => id).reverse())
  const other = await hook({ call })
  const answer = await call('GET', `/v4/integrations/${other.id}/deliveries?starting_after=${seen[0]}`)
  expect([answer.body.data, answer.headers.get('x-qon-pagination-restarted')]).toEqual([[], 'true'])
  await other.receiver.close()
})

test('the filter by event takes a uid, a slug and a custom slug; what names no event type matches nothing', async () => {
  const trials = await hook({ call, config: { events: ['16', '*'] } })
  await post(call, { event_name: 'in_app_purchase' }, { event_name: 'c' })
  await trials.become('delivered', 'delivered')
  const names = async (query: string): Promise<string[]> => (await trials.deliveries(query)).map(({ event_name }) => event_name).sort()
  expect(await names('&filter[event_name][]=16')).toEqual(['in_app_purchase'])
  expect(await names('&filter[event_name][]=in_app_purchase')).toEqual(['in_app_purchase'])
  expect(await names('&filter[event_name][]=16&filter[event_name][]=c')).toEqual(['c', 'in_app_purchase'])
  for (const none of ['2', '99', '01', 'Trial Started']) expect(await names(`&filter[event_name][]=${none}`)).toEqual([])
  await trials.receiver.close()
})
