import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rotateSecretKey } from '../../domain/projects/keys.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { until } from '../harness/until.ts'

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
    const keys: string[] = []
    for (let key = project.secret; keys.length < 2; key = keys.at(-1)!) {
      const answer = await regenerate(key, { 'Idempotency-Key': 'again' })
      expect(answer.headers.get('idempotency-replayed')).toBeNull()
      keys.push(answer.body.secret_key)
    }
    expect(new Set(keys).size).toBe(2)
    const entries = await log(keys[1]!)
    expect(entries).toHaveLength(2)
    expect(entries[1]).toMatchObject({
      operation: 'v4RegenerateProjectSecret',
      resource: 'project_settings',
      actor: { kind: 'secret_key', id: project.secret.slice(-4) },
      before: null,
      after: null,
    })
    const { rows } = await api.pool.query('select * from idempotent_answers where environment = $1', [project.production])
    expect(rows).toEqual([])
    expect(JSON.stringify(entries)).not.toContain(keys[1]!.slice(3))
  })

  test('is made by exactly one of 50 concurrent calls; the others are refused, as their key is replaced', async () => {
    const project = await api.newProject()
    const answers = await Promise.all(Array.from({ length: 50 }, () => regenerate(project.secret)))
    expect(answers.map(answer => answer.status).sort()).toEqual([200, ...Array(49).fill(403)])
    expect(await unexpired(project)).toBe(1)
    const key = answers.find(answer => answer.status === 200)!.body.secret_key
    expect((await get(key)).body.secret_key).toBe(key)
    expect(await log(key)).toHaveLength(1)
  })
})

describe('a replaced Secret Key, in its grace period', () => {
  const operations: [method: string, path: string, body?: unknown][] = [
    ['GET', PATH],
    ['PATCH', PATH, { project_name: 'Taken' }],
    ['POST', `${PATH}/regenerate-secret`],
    ['GET', `${PATH}/stores/stripe`],
    ['POST', `${PATH}/stores/stripe`, { api_key: 'sk_live_1' }],
  ]

  test('is refused on project settings and keys, before the body is looked at, and opens the rest', async () => {
    const project = await api.newProject()
    // This process has looked the key up and remembers it as the current one.
    expect((await get(project.secret)).status).toBe(200)
    expect((await get(project.sandbox)).status).toBe(200)
    const current = await transaction(api.pool, tx => rotateSecretKey(tx, api.secrets, project.id))
    for (const key of [project.secret, project.sandbox]) {
      for (const [method, path, body] of operations) {
        const answer = await api.call(method, path, { key, body })
        expect([method, path, answer.status, answer.body.error?.code]).toEqual([method, path, 403, 'control_forbidden'])
      }
      expect((await patch(key, { project_name: 7 })).status).toBe(403)
      expect((await api.call('GET', '/v4/events', { key })).status).toBe(200)
    }
    const settings = await get(current)
    expect(settings.body).toMatchObject({ secret_key: current, project_name: 'Test' })
    expect((await api.call('GET', `${PATH}/stores/stripe`, { key: current })).body.has_api_key).toBe(false)
  })

  test('is refused also when the rotation commits after the key was found', async () => {
    for (const [method, path, body] of operations.filter(([method]) => method !== 'GET')) {
      const project = await api.newProject()
      const waiting = await transaction(api.pool, async tx => {
        await rotateSecretKey(tx, api.secrets, project.id)
        const answer = api.call(method, path, { key: project.secret, body })
        await until('the request to wait for the project', async () => {
          const { rowCount } = await api.pool.query(
            `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          )
          return rowCount ? true : undefined
        })
        return { answer }
      })
      expect([path, (await waiting.answer).status]).toEqual([path, 403])
    }
  })

  test('ends at once with `now`: also one that was in its grace period before', async () => {
    const project = await api.newProject()
    const second = await transaction(api.pool, tx => rotateSecretKey(tx, api.secrets, project.id))
    const third = await transaction(api.pool, tx => rotateSecretKey(tx, api.secrets, project.id, { now: true }))
    for (const key of [project.secret, second]) {
      expect((await get(key)).status).toBe(401)
      expect((await api.call('GET', '/v4/events', { key })).status).toBe(401)
    }
    expect((await get(third)).status).toBe(200)
  })
})
