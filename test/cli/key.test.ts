import { afterAll, beforeAll, expect, test } from 'vitest'
import { key } from '../../cli/key.ts'
import { APP_SECRET, startApi, type TestApi } from '../harness/api.ts'
import { call } from './call.ts'

let api: TestApi
let env: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  env = { DATABASE_URL: api.databaseUrl, APP_SECRET, USER: 'ada', SUDO_USER: '' }
})
afterAll(() => api.stop())

const run = (...args: string[]) => call(key, args, env)
const create = (...args: string[]) => run('create', '--name', 'Export', '--scopes', 'events:read,exports:write', ...args)
const keyIn = (text: string) => /Key {6}(\S+)/.exec(text)?.[1] ?? ''
const idIn = (text: string) => /^Key (\S+)/.exec(text)?.[1] ?? ''
const events = async (token: string) => (await api.call('GET', '/v4/events', { key: token })).status
const entries = async (id: string) => (await api.call('GET', `/v4/audit-log?filter[resource_id]=${id}`)).body.data

test('a key is printed once, works, is listed with its last use, and is revoked at once', async () => {
  const { code, out } = await create()
  expect([code, out]).toEqual([0, expect.stringMatching(/^Key key_\w+ for the production of project \d+\n/)])
  const [id, token] = [idIn(out), keyIn(out)]
  expect(token).toMatch(/^pnk_live_/)
  expect([out.includes('Expires  never'), out.includes('events:read, exports:write')]).toEqual([true, true])
  expect(await events(token)).toBe(200)

  const listed = await run('list')
  expect(listed.out).toContain(id)
  expect(listed.out).not.toContain(token)
  const [shown] = JSON.parse((await run('list', '--json')).out)
  expect(shown).toMatchObject({
    id,
    name: 'Export',
    environment: 'production',
    project: api.project.id,
    created_by_kind: 'cli',
    created_by: 'ada',
  })

  expect((await run('revoke', id)).code).toBe(0)
  expect(await events(token)).toBe(401)
  expect(await run('revoke', id)).toMatchObject({ code: 1, notes: expect.stringContaining('there is no such key') })
  expect(await entries(id)).toMatchObject([
    { operation: 'key revoke', actor: { kind: 'cli', id: 'ada' }, after: null },
    { operation: 'key create', actor: { kind: 'cli', id: 'ada' }, before: null },
  ])
  expect(JSON.stringify(await entries(id))).not.toContain(token)
})

test('a key of the sandbox has an end and networks', async () => {
  const { out } = await create('--sandbox', '--expires', 'P90D', '--allow-ip', '127.0.0.1', '--allow-ip', '2001:db8::/32')
  expect(keyIn(out)).toMatch(/^pnk_test_/)
  expect(await events(keyIn(out))).toBe(200)
  const keys = (await api.call('GET', '/v4/api-keys', { key: api.project.sandbox })).body.data
  expect(keys).toMatchObject([{ id: idIn(out), allowed_addresses: ['127.0.0.1/32', '2001:db8::/32'] }])
  const days = (Date.parse(keys[0].expires_at) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(89)
  expect(days).toBeLessThan(91)
})

test('with a second project the project must be named', async () => {
  const other = await api.newProject()
  expect(await create()).toMatchObject({ code: 1, notes: expect.stringContaining('--project') })
  const { code, out } = await create('--project', String(other.id))
  expect([code, out]).toEqual([0, expect.stringContaining(`of project ${other.id}\n`)])
  expect(JSON.parse((await run('list', '--project', String(other.id), '--json')).out)).toHaveLength(1)
  expect(await create('--project', '999')).toMatchObject({ code: 1, notes: 'project 999 not found' })
})

test.each([
  [['create', '--scopes', 'events:read'], /--name NAME is missing/],
  [['create', '--name', 'a\nb', '--scopes', 'events:read'], /printable/],
  [['create', '--name', 'x'], /--scopes is missing/],
  [['create', '--name', 'x', '--scopes', 'events:read,all'], /there is no scope "all": alerts:read, /],
  [['create', '--name', 'x', '--scopes', 'events:read', '--expires', 'soon'], /--expires must be a duration such as P90D/],
  [['create', '--name', 'x', '--scopes', 'events:read', '--expires', '2020-01-01'], /--expires must lie in the future/],
  [['create', '--name', 'x', '--scopes', 'events:read', '--allow-ip', '10.0.0.0/40'], /--allow-ip must be .*10\.0\.0\.0\/40/],
  [['create', '--name', 'x', '--scopes', 'events:read', '--project', 'one'], /--project must be the number/],
  [['revoke'], /which key\?/],
])('%j is refused', async (args, says) => {
  expect(await run(...args)).toMatchObject({ code: 1, out: '', notes: expect.stringMatching(says) })
})
