import { afterAll, beforeAll, expect, test } from 'vitest'
import { project } from '../../cli/project.ts'
import { APP_SECRET, startApi, type TestApi } from '../harness/api.ts'
import { call } from './call.ts'

let api: TestApi
let env: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  env = { DATABASE_URL: api.databaseUrl, APP_SECRET }
})
afterAll(() => api.stop())

const keyIn = (text: string, name: string) => new RegExp(`${name} +(\\S+)`).exec(text)?.[1] ?? ''
const status = async (key: string) => (await api.call('GET', '/v4/events', { key })).status

test('a new project has an id and keys that open its environments', async () => {
  const { code, out } = await call(project, ['create', '--name', 'Shop'], env)
  expect(code).toBe(0)
  expect(out).toMatch(/^Project \d+\n/)
  const secret = keyIn(out, 'Secret Key')
  expect(keyIn(out, 'Sandbox key')).toBe(`test_${secret}`)
  expect(keyIn(out, 'Project Key')).toMatch(/^[\w-]{32}$/)
  expect([await status(secret), await status(`test_${secret}`)]).toEqual([200, 200])
})

test('the list shows every project in a row and lets no name move the cursor', async () => {
  await call(project, ['create', '--name', 'Ünï \u202e evil'], env)
  const { out } = await call(project, ['list'], env)
  const [head, ...rows] = out.split('\n')
  expect(head).toBe(
    'id  name        created               raw data  production users  last production event  sandbox users  last sandbox event',
  )
  expect(rows[0]).toMatch(/^ 1 {2}Test {8}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}on {23}0 {2}- {34}0 {2}-$/)
  expect(rows.at(-1)).toContain('Ünï � evil')
})

test('a rotation gives a new key, and the old one still works for a moment', async () => {
  const { secret, id } = await api.newProject()
  const { code, out } = await call(project, ['rotate', String(id)], env)
  expect(code).toBe(0)
  expect(out).toContain('works for at most 10 s more')
  expect([await status(keyIn(out, 'Secret Key')), await status(secret)]).toEqual([200, 200])
  const { rows } = await api.pool.query('select 1 from keys where project = $1 and expires_at is not null', [id])
  expect(rows).toHaveLength(1)
})

test('a rotation with --now leaves no moment to the old key', async () => {
  const { secret, id } = await api.newProject()
  const { code, out } = await call(project, ['rotate', String(id), '--now'], env)
  expect([code, out]).toEqual([0, expect.stringContaining('The old key is refused')])
  expect([await status(keyIn(out, 'Secret Key')), await status(secret)]).toEqual([200, 401])
})

test('where raw data is off, new exports are forbidden', async () => {
  const { secret, id } = await api.newProject()
  const create = () =>
    api.call('POST', '/v4/exports', { key: secret, body: { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-01-02T00:00:00Z' } })
  await call(project, ['raw-data', 'off', String(id)], env)
  expect(await create()).toMatchObject({ status: 403, body: { error: { code: 'control_forbidden' } } })
  await call(project, ['raw-data', 'on', String(id)], env)
  expect((await create()).status).toBe(202)
})

test('who gets a purchase that another user claims is set per project', async () => {
  const { id } = await api.newProject()
  const policy = async () => (await api.pool.query('select transfer_policy from projects where id = $1', [id])).rows[0].transfer_policy
  expect(await policy()).toBe('keep')
  const result = await call(project, ['set', String(id), '--transfer-policy', 'share'], env)
  expect(result).toEqual({ code: 0, out: `Transfer policy of project ${id} is share.`, notes: '' })
  expect(await policy()).toBe('share')
  expect((await call(project, ['set', '4711', '--transfer-policy', 'keep'], env)).notes).toBe('project 4711 not found')
})

test('policies about stores are set per project, several at once, and an unknown word is refused', async () => {
  const { id, secret } = await api.newProject()
  const stored = async () =>
    (await api.pool.query('select transfer_policy, sandbox_access, refund_preference from projects where id = $1', [id])).rows[0]
  expect(await stored()).toEqual({ transfer_policy: 'keep', sandbox_access: 'grant', refund_preference: 'none' })
  const result = await call(project, ['set', String(id), '--sandbox-access', 'refuse', '--refund-preference', 'grant_full'], env)
  expect(result.out).toBe(`Sandbox access of project ${id} is refuse.\nRefund preference of project ${id} is grant_full.`)
  expect(await stored()).toEqual({ transfer_policy: 'keep', sandbox_access: 'refuse', refund_preference: 'grant_full' })
  expect((await api.call('GET', '/v4/audit-log', { key: secret })).body.data).toMatchObject([
    {
      before: { sandbox_access: 'grant', refund_preference: 'none' },
      after: { sandbox_access: 'refuse', refund_preference: 'grant_full' },
    },
  ])
  const refused = await call(project, ['set', String(id), '--sandbox-access', 'refuse', '--refund-preference', 'maybe'], env)
  expect(refused.notes).toContain('--refund-preference none, decline or grant_full?')
  expect((await call(project, ['set', String(id)], env)).notes).toContain('--sandbox-access')
})

test('what an operator changes stands in the audit log of both environments, without keys; what changes nothing does not', async () => {
  const ada = { ...env, USER: 'root', SUDO_USER: 'ada' }
  const made = await call(project, ['create', '--name', 'Audited'], ada)
  const id = /^Project (\d+)/.exec(made.out)![1]!
  await call(project, ['raw-data', 'off', id], ada)
  await call(project, ['raw-data', 'off', id], ada)
  await call(project, ['set', id, '--transfer-policy', 'transfer'], ada)
  await call(project, ['set', id, '--transfer-policy', 'transfer'], ada)
  const rotated = await call(project, ['rotate', id], { ...env, USER: 'grace' })
  const key = keyIn(rotated.out, 'Secret Key')
  const log = await api.call('GET', '/v4/audit-log', { key })
  const about = { resource: 'project', resource_id: id, request_id: null, reason: null }
  expect(log.body.data).toMatchObject([
    { ...about, operation: 'project rotate', actor: { kind: 'cli', id: 'grace' }, before: null, after: null },
    { operation: 'project set', before: { transfer_policy: 'keep' }, after: { transfer_policy: 'transfer' } },
    { operation: 'project raw-data', before: { raw_data: true }, after: { raw_data: false } },
    { ...about, operation: 'project create', actor: { kind: 'cli', id: 'ada' }, before: null, after: { project_name: 'Audited' } },
  ])
  expect((await api.call('GET', '/v4/audit-log', { key: `test_${key}` })).body.data).toEqual(log.body.data)
})

test('an unknown project is reported in one line', async () => {
  expect(await call(project, ['rotate', '4711'], env)).toEqual({ code: 1, out: '', notes: 'project 4711 not found' })
})

test('a key sealed with another APP_SECRET could not be shown again: refused', async () => {
  const result = await call(project, ['create', '--name', 'Lost'], { ...env, APP_SECRET: 'not the secret of this place, long enough' })
  expect(result).toMatchObject({ code: 1, notes: expect.stringContaining('APP_SECRET is not the one') })
})

test('the list as JSON counts production and sandbox apart', async () => {
  const { secret, id } = await api.newProject()
  const event = { event_id: 'e1', event_name: 'opened', identity_id: 'ada', happened_at: '2026-03-01T12:00:00Z' }
  expect((await api.call('POST', '/v4/events', { key: `test_${secret}`, body: { events: [event] } })).status).toBe(200)
  const result = await call(project, ['list', '--json'], env)
  expect(result.code).toBe(0)
  const listed = JSON.parse(result.out).find((one: { id: number }) => one.id === id)
  expect(listed).toMatchObject({ raw_data: true, production: { users: 0, last_event_at: null }, sandbox: { users: 1 } })
  expect(listed.sandbox.last_event_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  const row = (await call(project, ['list'], env)).out.split('\n').find(line => line.trimStart().startsWith(`${id} `))
  expect(row).toMatch(new RegExp(`0 {2}- +1 {2}${listed.sandbox.last_event_at}$`))
})
