import { afterAll, beforeAll, expect, test } from 'vitest'
import { replayEvent, setAside } from '../../cli/set-aside.ts'
import { listSetAside } from '../../domain/durable/log/replay-set-aside.ts'
import { consumeOne } from '../../domain/durable/log/set-aside.ts'
import { CONSUMERS } from '../../domain/oversight/reconciliation/log-handlers.ts'
import { APP_SECRET, startApi, type TestApi } from '../harness/api.ts'
import { consumer } from '../harness/consume.ts'
import { item } from '../harness/events.ts'
import { call } from './call.ts'

let api: TestApi
let env: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  env = { DATABASE_URL: api.databaseUrl, APP_SECRET, USER: 'ops' }
  const push = await api.call('POST', '/v4/pushes', { body: { name: 'Hello', body: 'Hello' } })
  const data = { initiators: [{ uid: 'opened', type: 'event' }], actions: { push: push.body.id } }
  const made = await api.call('POST', '/v4/automations', { body: { name: 'Hello', status: 'active', data } })
  expect(made.status).toBe(201)
})
afterAll(() => api.stop())

/** An event that the consumer of automations could not handle. */
async function poison(): Promise<string> {
  const event = item({ event_name: 'opened', identity_id: 'ada', price: undefined, currency: undefined })
  const { body } = await api.call('POST', '/v4/events', { body: { events: [event] } })
  const { id } = body.results[0]
  const { rows } = await api.pool.query<{ partition: number }>('select partition from events where id = $1', [id])
  const failing = consumer('automations', () => Promise.reject(new Error('poison\nand more of it')))
  await consumeOne(api.pool, failing, api.project.production, rows[0]!.partition, () => false)
  return id
}
const runsOf = async (event: string) => (await api.pool.query('select status from automation_runs where event_id = $1', [event])).rowCount
const actor = { kind: 'cli' as const, id: null }

test('what was set aside is listed with its reason, handled again once, and gone from the list', async () => {
  expect(await call(setAside, ['list'], env)).toEqual({ code: 0, out: 'No events were set aside.', notes: '' })
  const id = await poison()
  const listed = await call(setAside, ['list'], env)
  expect(listed.out.split('\n')).toHaveLength(2)
  expect(listed.out).toMatch(new RegExp(`${id} +automations +${api.project.id} +production +20[^ ]+Z +- +poison$`))
  expect(JSON.parse((await call(setAside, ['list', '--json'], env)).out)).toMatchObject([
    { event_id: id, consumer: 'automations', project: api.project.id, environment_kind: 'production', replayed_at: null },
  ])
  expect(await runsOf(id)).toBe(0)

  expect(await call(setAside, ['replay', id], env)).toEqual({ code: 0, out: `${id} (automations): handled`, notes: '' })
  expect(await runsOf(id)).toBe(1)
  expect((await call(setAside, ['list'], env)).out).toBe('No events were set aside.')
  expect((await call(setAside, ['list', '--all'], env)).out).toContain(id)
  const { body } = await api.call('GET', `/v4/audit-log?filter[resource_id]=${id}`)
  expect(body.data).toMatchObject([{ operation: 'set-aside replay', actor: { kind: 'cli', id: 'ops' } }])
  expect(await call(setAside, ['replay', id], env)).toEqual({ code: 2, out: '', notes: `${id}: no such event is set aside` })
})

test('of two who replay it at once one does', async () => {
  const id = await poison()
  const [event] = await listSetAside(api.pool, { ids: [id] })
  const both = await Promise.all([1, 2].map(() => replayEvent(api.pool, CONSUMERS, actor, event!)))
  expect(both.map(({ is }) => is).sort()).toEqual(['gone', 'replayed'])
  expect(await runsOf(id)).toBe(1)
})

test('one that fails again stays, with its new reason, and holds up no other', async () => {
  const [first, second] = [await poison(), await poison()]
  const [event] = await listSetAside(api.pool, { ids: [first] })
  const failing = [consumer('automations', () => Promise.reject(new Error('still poison')))]
  expect(await replayEvent(api.pool, failing, actor, event!)).toEqual({ is: 'failed', why: 'still poison' })
  expect((await listSetAside(api.pool, { ids: [first] }))[0]).toMatchObject({ error: 'still poison', replayed_at: null })
  const unknown = { ...event!, consumer: 'charts' }
  expect((await replayEvent(api.pool, CONSUMERS, actor, unknown)).is).toBe('failed')
  const result = await call(setAside, ['replay', '--all'], env)
  expect(result).toMatchObject({ code: 0, notes: '' })
  expect(result.out.split('\n')).toHaveLength(2)
  expect([await runsOf(first), await runsOf(second)]).toEqual([1, 1])
})

test.each([[[]], [['show']], [['replay']], [['replay', '--all', 'evt_1']], [['list', 'evt_1']]])('a wrong call says so: %j', async args => {
  expect((await call(setAside, args, env)).code).toBe(1)
})
