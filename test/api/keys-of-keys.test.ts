// What a named key gives to others: keys that it creates, and secrets in answers that it may not see.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { descriptions, SCOPES } from '../../schemas/generated/operations.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import type { RequestOptions } from '../harness/client.ts'
import { namedKey } from '../harness/named-keys.ts'
import { until } from '../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(async () => {
  await api.stop()
})

const PATH = '/v4/api-keys'
const INPUT = { name: 'Warehouse', scopes: ['events:read'] }
const create = (key: string, body: object, headers = {}) => api.call('POST', PATH, { key, body: { ...INPUT, ...body }, headers })
const list = async (key: string) => (await api.call('GET', `${PATH}?limit=100`, { key })).body
const revoke = (key: string, id: string) => api.call('DELETE', `${PATH}/${id}`, { key })
const events = (key: string, options: RequestOptions = {}) => api.call('GET', '/v4/events', { key, ...options })
const inFuture = (ms: number) => new Date(Date.now() + ms).toISOString().replace(/\.\d+/, '')

describe('a key that a named key creates', () => {
  const ADMIN = ['project_settings:read', 'project_settings:write', 'events:read']
  const maker = (project: TestProjectKeys, more = {}) => namedKey(api, project, ADMIN, more)

  test('has at most the scopes of its maker, and names it', async () => {
    const project = await api.newProject()
    const { key, id } = await maker(project)
    const child = await create(key, { scopes: ['events:read'] })
    expect([child.status, child.body.created_by]).toEqual([201, { kind: 'api_key', id }])
    for (const scopes of [['events:write'], ['events:read', 'users:read', 'users:write'], [...SCOPES]]) {
      const wider = await create(key, { scopes })
      expect([wider.status, wider.body.error.code]).toEqual([403, 'control_forbidden'])
      for (const scope of scopes.filter(one => !ADMIN.includes(one))) expect(wider.body.error.message).toContain(scope)
    }
    // It has no scope to create another one.
    expect((await create(child.body.key, {})).status).toBe(403)
    expect((await create(key, { environment: 'sandbox' })).status).toBe(400)
    expect((await list(key)).data).toHaveLength(2)
  })

  test('does not last longer, and works from no other address', async () => {
    const project = await api.newProject()
    const end = inFuture(3_600_000)
    const { key } = await maker(project, { expiresAt: end, allowedAddresses: ['127.0.0.0/8', '2001:db8::/32'] })
    const child = (await create(key, {})).body
    expect([child.expires_at, child.allowed_addresses]).toEqual([end, ['127.0.0.0/8', '2001:db8::/32']])
    expect((await create(key, { expires_at: inFuture(60_000), allowed_addresses: ['127.0.0.1', '2001:db8:1::/48'] })).status).toBe(201)
    expect((await create(key, { expires_at: inFuture(7_200_000) })).body.error.code).toBe('control_forbidden')
    for (const network of ['0.0.0.0/0', '127.0.0.0/7', '203.0.113.7', '::/0'])
      expect([network, (await create(key, { allowed_addresses: ['127.0.0.1', network] })).status]).toEqual([network, 403])
  })

  test('stays when its maker is revoked; a revoked maker creates none', async () => {
    const project = await api.newProject()
    const { key, id } = await maker(project)
    const child = (await create(key, {})).body
    // The creation waits for the project, and the maker is revoked meanwhile.
    const holder = await api.pool.connect()
    await holder.query('begin')
    await holder.query('select 1 from projects where id = $1 for update', [project.id])
    const late = create(key, {})
    await until('a waiting creation', async () => {
      const { rows } = await api.pool.query(
        `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%from projects%'`,
      )
      return rows.length > 0 ? true : undefined
    })
    await holder.query('update api_keys set revoked_at = clock_timestamp() where id = $1', [id])
    await holder.query('commit')
    holder.release()
    const answer = await late
    expect([answer.status, answer.body.error.code]).toEqual([403, 'control_forbidden'])
    expect((await events(child.key)).status).toBe(200)
  })

  test('may be revoked by it, as may the key itself', async () => {
    const { key, id } = await maker(await api.newProject())
    const child = (await create(key, {})).body
    expect([(await revoke(key, child.id)).status, (await events(child.key)).status]).toEqual([204, 401])
    expect([(await revoke(key, id)).status, (await list(key)).error.code]).toEqual([204, 'control_unauthorized'])
  })
})

describe('keys and secrets in answers', () => {
  const valid = (id: string, status: number, body: unknown) => descriptions.find(one => one.id === id)!.validate.answer[status]!(body)

  test('are masked in project settings', async () => {
    const project = await api.newProject()
    const { key } = await namedKey(api, project, ['project_settings:read', 'project_settings:write'])
    const open = (await api.call('GET', '/v4/project-settings', { key: project.secret })).body
    const mask = (text: string) => `…${text.slice(-4)}`
    const masked = {
      ...open,
      access_token: mask(open.access_token),
      api_key: mask(open.api_key),
      secret_key: mask(open.secret_key),
    }
    const read = await api.call('GET', '/v4/project-settings', { key })
    expect(read.body).toEqual(masked)
    const changed = await api.call('PATCH', '/v4/project-settings', { key, body: { project_name: 'Shop' } })
    expect(changed.body).toEqual({ ...masked, project_name: 'Shop' })
    expect([valid('v4GetProjectSettings', 200, read.body), valid('v4UpdateProjectSettings', 200, changed.body)]).toEqual([true, true])
  })

  test('are masked in a replayed answer, and the Secret Key sees them in clear in the same answer', async () => {
    const project = await api.newProject()
    const { key } = await namedKey(api, project, ['screens:write', 'screens:read'])
    const post = (by: string, headers: Record<string, string>) =>
      api.call('POST', '/v4/screens', { key: by, body: { name: 'Paywall' }, headers })
    for (const [first, second] of [
      [project.secret, key],
      [key, project.secret],
    ] as const) {
      const headers = { 'Idempotency-Key': `by ${first}` }
      const made = await post(first, headers)
      const again = await post(second, headers)
      expect([made.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true'])
      const [clear, masked] = first === key ? [again, made] : [made, again]
      const { projectKey } = project
      expect(clear.body).toMatchObject({ prod_key: projectKey, sandbox_key: `test_${projectKey}` })
      expect(masked.body).toEqual({ ...clear.body, prod_key: `…${projectKey.slice(-4)}`, sandbox_key: `…${projectKey.slice(-4)}` })
      expect(masked.text).not.toContain(projectKey)
      expect(valid('v4CreateScreen', 201, masked.body)).toBe(true)
    }
    const [screen] = (await api.call('GET', '/v4/screens', { key })).body.data
    expect((await api.call('GET', `/v4/screens/${screen.id}`, { key })).text).not.toContain(project.projectKey)
  })

  test('are masked where a signing secret is made', async () => {
    const project = await api.newProject()
    const { key } = await namedKey(api, project, ['integrations:write', 'alerts:write'])
    const hook = { title: 'Hook', integration: 'webhooks', target_platform: 'iOS' }
    const { id } = (await api.call('POST', '/v4/integrations', { key, body: hook })).body
    const config = { settings: { url: 'https://example.org/hook' } }
    const integration = await api.call('PUT', `/v4/integrations/${id}/config`, { key, body: config })
    const channel = { title: 'On call', type: 'webhook', settings: { url: 'https://example.org/hook' } }
    const alerts = await api.call('POST', '/v4/notification-channels', { key, body: channel })
    for (const { body, text } of [integration, alerts]) {
      expect(body.generated_signing_secret).toMatch(/^….{4}$/)
      expect(text).not.toContain('whsec_')
    }
    expect(valid('v4UpdateIntegrationConfig', 200, integration.body)).toBe(true)
    expect(valid('v4CreateNotificationChannel', 201, alerts.body)).toBe(true)
  })
})
