import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const PATH = '/v4/project-settings'
const get = (key: string) => api.call('GET', PATH, { key })
const patch = (key: string, body: unknown) => api.call('PATCH', PATH, { key, body })
const regenerate = (key: string, headers: Record<string, string> = {}) => api.call('POST', `${PATH}/regenerate-secret`, { key, headers })
const log = async (key: string) => (await api.call('GET', '/v4/audit-log?limit=100', { key })).body.data
const unexpired = async ({ id }: TestProjectKeys) =>
  (await api.pool.query(`select id from keys where project = $1 and kind = 'secret' and expires_at is null`, [id])).rowCount

describe('settings', () => {
  test('show the keys in clear, the same under both keys, with Cache-Control: no-store', async () => {
    const project = await api.newProject()
    const answer = await get(project.secret)
    expect(answer.body).toEqual({
      object: 'project_settings',
      url: PATH,
      project_name: 'Test',
      access_token: project.projectKey,
      api_key: expect.stringMatching(/^[\w-]{32}$/),
      secret_key: project.secret,
      proxy_url: null,
      rtdn_proxy_url: null,
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect((await get(project.sandbox)).body).toEqual(answer.body)
    expect((await api.call('GET', '/v4/events', { key: answer.body.api_key })).status).toBe(401)
  })

  test('change only in the given fields, and null clears a field', async () => {
    const project = await api.newProject()
    await patch(project.secret, { proxy_url: 'https://proxy.example.org/a?b=c', rtdn_proxy_url: 'https://rtdn.example.org' })
    const renamed = await patch(project.sandbox, { project_name: 'Näme 😀' })
    expect([renamed.status, renamed.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(renamed.body).toMatchObject({ project_name: 'Näme 😀', proxy_url: 'https://proxy.example.org/a?b=c' })
    await patch(project.secret, { proxy_url: null })
    expect((await get(project.secret)).body).toEqual({ ...renamed.body, proxy_url: null })
    expect((await get(api.project.secret)).body.project_name).toBe('Test')
  })

  test.each([
    [{ project_name: '' }, 'project_name'],
    [{ project_name: 'x'.repeat(256) }, 'project_name'],
    [{ project_name: null }, 'project_name'],
    [{ proxy_url: 'http://example.org' }, 'proxy_url'],
    [{ proxy_url: 'https://a b' }, 'proxy_url'],
    [{ proxy_url: 'https://[1' }, 'proxy_url'],
    [{ rtdn_proxy_url: `https://example.org/${'x'.repeat(2048)}` }, 'rtdn_proxy_url'],
    [{ secret_key: `sk_${'x'.repeat(40)}` }, 'secret_key'],
  ])('%j is refused', async (body, field) => {
    const answer = await patch(api.project.secret, body)
    expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_data'])
    expect(answer.body.error.details).toEqual([{ field, message: expect.any(String) }])
  })

  test('leave one entry without keys for a change, in the log of both environments, and none without a change', async () => {
    const project = await api.newProject()
    await patch(project.secret, { project_name: 'Shop' })
    await patch(project.secret, { project_name: 'Shop' })
    await patch(project.secret, {})
    const entries = await log(project.sandbox)
    const shown = {
      object: 'project_settings',
      url: PATH,
      proxy_url: null,
      rtdn_proxy_url: null,
      has_access_token: true,
      has_api_key: true,
      has_secret_key: true,
    }
    expect(entries).toMatchObject([{ operation: 'v4UpdateProjectSettings', resource: 'project_settings', resource_id: null }])
    expect(entries[0].before).toEqual({ ...shown, project_name: 'Test' })
    expect(entries[0].after).toEqual({ ...shown, project_name: 'Shop' })
  })
})

describe('a new Secret Key', () => {
  test('works at once in both environments, the old one for at most 10 s more, the Project Key stays', async () => {
    const project = await api.newProject()
    const answer = await regenerate(project.sandbox)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const key = answer.body.secret_key
    expect(answer.body).toEqual({ object: 'project_settings', url: PATH, secret_key: expect.stringMatching(/^sk_[\w-]{40}$/) })
    expect((await get(key)).body).toMatchObject({ secret_key: key, access_token: project.projectKey })
    expect((await get(`test_${key}`)).status).toBe(200)
    const { rows } = await api.pool.query(
      `select extract(epoch from expires_at - clock_timestamp())::float as seconds from keys
       where project = $1 and kind = 'secret' and expires_at is not null`,
      [project.id],
    )
    expect(rows).toHaveLength(1)
    expect(rows[0].seconds).toBeGreaterThan(0)
    // A process caches a key for four seconds.
    expect(rows[0].seconds).toBeLessThanOrEqual(6)
  })

  test('is generated by every call, with any Idempotency-Key, and is stored nowhere in clear', async () => {
    const project = await api.newProject()
    const keys = []
    for (const key of [project.secret, project.secret]) {
      const answer = await regenerate(key, { 'Idempotency-Key': 'again' })
      expect(answer.headers.get('idempotency-replayed')).toBeNull()
      keys.push(answer.body.secret_key)
    }
    expect(new Set(keys).size).toBe(2)
    const entries = await log(keys[1])
    expect(entries).toHaveLength(2)
    expect(entries[0]).toMatchObject({
      operation: 'v4RegenerateProjectSecret',
      resource: 'project_settings',
      actor: { kind: 'secret_key', id: project.secret.slice(-4) },
      before: null,
      after: null,
    })
    const { rows } = await api.pool.query('select * from idempotent_answers where environment = $1', [project.production])
    expect(rows).toEqual([])
    expect(JSON.stringify(entries)).not.toContain(keys[1].slice(3))
  })

  test('of 50 concurrent calls exactly one is valid afterwards', async () => {
    const project = await api.newProject()
    const answers = await Promise.all(Array.from({ length: 50 }, () => regenerate(project.secret)))
    expect(answers.map(answer => answer.status)).toEqual(answers.map(() => 200))
    expect(await unexpired(project)).toBe(1)
    const made = answers.map(answer => answer.body.secret_key)
    expect(new Set(made).size).toBe(50)
    expect(made).toContain((await get(made[0])).body.secret_key)
    expect(await log(made[0])).toHaveLength(50)
  })
})
