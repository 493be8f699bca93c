import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { storedAutomation } from '../harness/stored-automation.ts'
import { storedIntegration } from '../harness/stored-integration.ts'
import { until } from '../harness/until.ts'

const NO_USES = { used_by: [], used_by_has_more: false }

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

type Options = { key?: string; headers?: Record<string, string> }
const create = (body: object, options: Options = {}) => api.call('POST', '/v4/pushes', { ...options, body })
const replace = (id: string, body: object, options: Options = {}) => api.call('PUT', `/v4/pushes/${id}`, { ...options, body })
const remove = (id: string, options: Options = {}) => api.call('DELETE', `/v4/pushes/${id}`, options)
const made = async (body: object = {}, options: Options = {}) => (await create({ name: 'Win back', body: 'Hello', ...body }, options)).body
const entriesOf = async (id: string) => (await api.call('GET', `/v4/audit-log?filter[resource_id]=${id}`)).body.data
const integration = (slug: string, environment = api.project.production) => storedIntegration(api.pool, environment, { slug })
const longAgo = (id: string) => api.pool.query(`update pushes set updated_at = '2026-01-01' where id = $1`, [id])

const FULL = {
  name: 'Win back 😀',
  title: 'Come back, {{property._q_name}}',
  body: 'Half the price',
  image_url: 'https://example.com/a.png',
  deep_link: 'app://offers',
  data: { b: '1', a: '' },
}

describe('a push', () => {
  test('has empty defaults, is read as it was created, and leaves one entry', async () => {
    const answer = await create({ name: 'Win back', body: 'Hello' })
    const { id } = answer.body
    expect(id).toMatch(/^psh_[0-9a-z]{20}$/)
    expect([answer.status, answer.headers.get('location')]).toEqual([201, `/v4/pushes/${id}`])
    expect(answer.body).toEqual({
      object: 'push',
      id,
      url: `/v4/pushes/${id}`,
      name: 'Win back',
      title: '',
      body: 'Hello',
      image_url: null,
      deep_link: null,
      data: {},
      integration_id: null,
      created_at: expect.any(String),
      updated_at: answer.body.created_at,
    })
    expect((await api.call('GET', answer.body.url)).body).toEqual({ ...answer.body, ...NO_USES })
    expect(await entriesOf(id)).toMatchObject([{ operation: 'v4CreatePush', resource: 'push', before: null, after: answer.body }])
  })

  test('is replaced as a whole: what is left out returns to its default', async () => {
    const integration_id = await integration('firebase')
    const push = await made({ ...FULL, integration_id })
    expect(push).toMatchObject({ ...FULL, integration_id })
    await longAgo(push.id)
    const answer = await replace(push.id, { name: 'Short', body: 'B' })
    const bare = { name: 'Short', body: 'B', title: '', image_url: null, deep_link: null, data: {}, integration_id: null }
    expect([answer.status, answer.body]).toEqual([200, { ...push, ...bare, updated_at: expect.not.stringMatching('2026-01-01') }])
    expect((await api.call('GET', push.url)).body).toEqual({ ...answer.body, ...NO_USES })
    const [entry] = await entriesOf(push.id)
    expect(entry).toMatchObject({ operation: 'v4UpdatePush', before: { name: FULL.name }, after: { name: 'Short' } })
  })

  test('replaced without a change keeps updated_at and leaves no entry', async () => {
    const push = await made(FULL)
    await longAgo(push.id)
    const answer = await replace(push.id, { ...FULL, data: { a: '', b: '1' } })
    expect([answer.status, answer.body.updated_at]).toEqual([200, '2026-01-01T00:00:00Z'])
    expect(await entriesOf(push.id)).toHaveLength(1)
  })

  test.each([
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(256) }],
    ['body', { body: '' }],
    ['body', { body: 'x'.repeat(2001) }],
    ['title', { title: 'x'.repeat(256) }],
    ['title', { title: null }],
    ['image_url', { image_url: 'x'.repeat(2049) }],
    ['deep_link', { deep_link: 1 }],
    ['data', { data: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`k${n}`, ''])) }],
    ['data.k', { data: { k: 1 } }],
    ['data.k', { data: { k: 'x'.repeat(1025) } }],
    ['created_at', { created_at: '2026-01-01T00:00:00Z' }],
  ])('with a bad %s is refused: %j', async (field, body) => {
    const push = await made()
    for (const answer of [await create({ name: 'n', body: 'b', ...body }), await replace(push.id, { name: 'n', body: 'b', ...body })])
      expect([answer.status, answer.body.error.details[0].field]).toEqual([400, field])
  })

  test('is deleted once by ten concurrent requests, and its entry has its former state', async () => {
    const push = await made(FULL)
    const answers = await Promise.all(Array.from({ length: 10 }, () => remove(push.id)))
    expect(answers.map(answer => answer.status).sort()).toEqual([204, ...Array.from({ length: 9 }, () => 404)])
    for (const answer of [await api.call('GET', push.url), await replace(push.id, { name: 'n', body: 'b' })])
      expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
    expect((await entriesOf(push.id))[0]).toMatchObject({ operation: 'v4DeletePush', before: push, after: null })
  })

  test('is created once per Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'push-1' }
    const [first, second] = [await made({}, { headers }), await made({}, { headers })]
    expect(second).toEqual(first)
  })

  test('replaced by 50 concurrent identical requests changes once', async () => {
    const push = await made()
    const answers = await Promise.all(Array.from({ length: 50 }, () => replace(push.id, FULL)))
    expect(new Set(answers.map(answer => answer.status))).toEqual(new Set([200]))
    expect(await entriesOf(push.id)).toHaveLength(2)
  })
})

describe('the integration of a push', () => {
  test.each(['onesignal', 'firebase'])('may be of %s', async slug => {
    const integration_id = await integration(slug)
    const push = await made({ integration_id })
    expect(push.integration_id).toBe(integration_id)
    expect((await replace(push.id, { name: 'n', body: 'b', integration_id })).status).toBe(200)
  })

  test.each(['webhooks', 'amplitude', 'email'])('may not be of %s', async slug => {
    const integration_id = await integration(slug)
    const push = await made()
    for (const answer of [
      await create({ name: 'n', body: 'b', integration_id }),
      await replace(push.id, { name: 'n', body: 'b', integration_id }),
    ])
      expect([answer.status, answer.body.error.code, answer.body.error.details[0].field]).toEqual([400, 'invalid_data', 'integration_id'])
  })

  test('must exist in this environment: otherwise 404 names the field', async () => {
    const deleted = await integration('onesignal')
    await api.pool.query('update integrations set deleted_at = now() where id = $1', [deleted])
    const other = await api.newProject()
    const strange = [
      'int_gone',
      deleted,
      await integration('onesignal', api.project.sandboxEnvironment),
      await integration('onesignal', other.production),
    ]
    const push = await made()
    for (const integration_id of strange)
      for (const answer of [
        await create({ name: 'n', body: 'b', integration_id }),
        await replace(push.id, { name: 'n', body: 'b', integration_id }),
      ]) {
        expect([answer.status, answer.body.error.code]).toEqual([404, 'not_found'])
        expect(answer.body.error.message).toContain('integration_id')
      }
    expect((await api.call('GET', push.url)).body).toEqual({ ...push, ...NO_USES })
  })

  test('is locked during the creation of the push: a creation that waits for its deletion is 404', async () => {
    const integration_id = await integration('onesignal')
    const tx = await api.pool.connect()
    try {
      await tx.query('begin')
      await tx.query('select 1 from integrations where id = $1 for update', [integration_id])
      const creation = create({ name: 'n', body: 'b', integration_id })
      await until('the blocked creation', async () =>
        (await api.pool.query(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).rows[0]
          ? true
          : undefined,
      )
      await tx.query('update integrations set deleted_at = now() where id = $1', [integration_id])
      await tx.query('commit')
      expect((await creation).status).toBe(404)
    } finally {
      tx.release()
    }
  })
})

describe('a push in use', () => {
  const step = (push: string) => ({
    actions: {},
    steps: [{ id: 'wait', type: 'wait_for_event', on_timeout: [{ id: 'p', type: 'push', push }] }],
  })
  const action = (push: string) => ({ actions: { push } })

  test.each([
    ['active', action, 409],
    ['paused', action, 409],
    ['active', step, 409],
    ['inactive', step, 204],
    ['inactive', action, 204],
  ])('by an %s automation', async (status, data, expected) => {
    const { id, url } = await made()
    const { id: free } = await made()
    await storedAutomation(api.pool, api.project.production, status, data(id))
    const answer = await remove(id)
    expect(answer.status).toBe(expected)
    expect((await api.call('GET', url)).status).toBe(expected === 409 ? 200 : 404)
    if (expected === 409) expect(answer.body.error.code).toBe('conflict')
    expect((await remove(free)).status).toBe(204)
  })

  test('is told by the push and by the list, those first that prevent its deletion', async () => {
    const { secret: key, production } = await api.newProject()
    const [used, free] = [await made({}, { key }), await made({}, { key })]
    const automation = (status: string, data: object) => storedAutomation(api.pool, production, status, data)
    const idle = await automation('inactive', action(used.id))
    const twice = { ...action(used.id), steps: [...step(used.id).steps, { id: 'again', type: 'push', push: used.id }] }
    const paused = await automation('paused', twice)
    await automation('active', step('psh_another'))
    const use = (id: string, status: string, ...steps: string[]) => ({
      ...{ object: 'automation', id, name: 'Stored', status },
      ...{ parts: steps.map(of => ({ id: of, name: null })), prevents_deletion: status !== 'inactive' },
    })
    const used_by = [use(paused, 'paused', 'again', 'p'), use(idle, 'inactive')]
    expect((await api.call('GET', used.url, { key })).body).toEqual({ ...used, used_by, used_by_has_more: false })
    expect((await api.call('GET', '/v4/pushes', { key })).body.data).toEqual([
      { ...free, ...NO_USES },
      { ...used, used_by, used_by_has_more: false },
    ])
    const named = { name: 'Pushes', scopes: ['pushes:read'] }
    const pushesOnly = (await api.call('POST', '/v4/api-keys', { key, body: named })).body
    expect((await api.call('GET', used.url, { key: pushesOnly.key })).body.used_by).toEqual(
      used_by.map(each => ({ ...each, name: null, parts: [] })),
    )
  })

  test('by an earlier version only can be deleted', async () => {
    const { id } = await made()
    const automation = await storedAutomation(api.pool, api.project.production, 'active', action(id))
    await api.pool.query('update automations set version = 2 where id = $1', [automation])
    await api.pool.query(
      `insert into automation_versions select environment, automation_id, 2, '{"actions":{}}' from automation_versions where automation_id = $1`,
      [automation],
    )
    expect((await remove(id)).status).toBe(204)
  })
})

test('the list is newest first, continues after a cursor, and has one environment', async () => {
  const { secret: key, sandbox } = await api.newProject()
  const ids: string[] = []
  for (let n = 0; n < 4; n++) ids.unshift((await made({}, { key })).id)
  await api.pool.query(`update pushes set created_at = '2026-01-01' where id = any($1)`, [ids.slice(1, 3)])
  await api.pool.query(`update pushes set created_at = '2025-01-01' where id = $1`, [ids[3]])
  const first = await api.call('GET', '/v4/pushes?limit=2', { key })
  expect(first.body).toMatchObject({ object: 'list', url: '/v4/pushes', has_more: true, next_cursor: ids[1] })
  const rest = await api.call('GET', `/v4/pushes?starting_after=${ids[1]}`, { key })
  expect([...first.body.data, ...rest.body.data].map(push => push.id)).toEqual(ids)
  expect([rest.body.has_more, 'next_cursor' in rest.body]).toEqual([false, false])
  const restarted = await api.call('GET', '/v4/pushes?limit=1&starting_after=psh_gone', { key })
  expect([restarted.headers.get('x-qon-pagination-restarted'), restarted.body.data[0].id]).toEqual(['true', ids[0]])
  expect((await api.call('GET', '/v4/pushes', { key: sandbox })).body.data).toEqual([])
})
