import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const URL = '/v4/remote-configurations'
const make = async (fields: Record<string, unknown> = {}, key?: string) => {
  const made = await api.call('POST', URL, { body: { name: 'Paywall', ...fields }, ...(key && { key }) })
  expect(made.status, made.text).toBe(201)
  return made.body
}
const become = (id: string, status: string) => api.call('PATCH', `${URL}/${id}/status`, { body: { status } })
const newUser = async (): Promise<string> => (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body.id
const entries = async (id: string) =>
  (await api.pool.query('select operation, before, after from audit_log where resource_id = $1 order by id', [id])).rows
const sooner = (id: string) =>
  api.pool.query(
    `update remote_configurations set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour'
    where id = $1`,
    [id],
  )

describe('a remote configuration', () => {
  test('is created as a draft with defaults, and only the single view has the payload', async () => {
    const made = await api.call('POST', URL, { body: { name: 'Paywall' } })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      object: 'remote_configuration',
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      url: `${URL}/${made.body.id}`,
      name: 'Paywall',
      status: 'draft',
      segment_percent: 100,
      segmentation_conditions: [],
      context_key: null,
      created_at: made.body.updated_at,
      updated_at: expect.any(String),
    })
    expect(made.headers.get('location')).toBe(made.body.url)
    expect((await api.call('GET', made.body.url)).body).toEqual({
      ...made.body,
      used_by: [],
      used_by_has_more: false,
      payload: {},
    })
    expect((await api.call('GET', `${made.body.url}/payload-mapping`)).body.data).toEqual({})
    expect(await entries(made.body.id)).toEqual([{ operation: 'v4CreateRemoteConfiguration', before: null, after: made.body }])
  })

  test('an error names the wrong fields of the body', async () => {
    const wrong = await api.call('POST', URL, { body: { name: '', context_key: '', segment_percent: 101, status: 'active' } })
    expect(wrong.status).toBe(400)
    expect([...new Set(wrong.body.error.details.map((d: { field: string }) => d.field))].sort()).toEqual([
      'context_key',
      'name',
      'segment_percent',
      'status',
    ])
  })

  test('a condition on a missing resource is refused with its field', async () => {
    const conditions = [
      { metric: 'country', comparator: 'eq', value: 'DE' },
      { metric: 'segment', comparator: 'eq', value: 'seg_none' },
    ]
    const wrong = await api.call('POST', URL, { body: { name: 'x', segmentation_conditions: conditions } })
    expect(wrong.status).toBe(400)
    expect(wrong.body.error.details).toEqual([{ field: 'segmentation_conditions[1].value', message: expect.any(String) }])
  })

  test('is replaced as a whole: fields that are left out return to their defaults; an unchanged one leaves no entry', async () => {
    const made = await make({
      context_key: 'main',
      segment_percent: 12.5,
      segmentation_conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }],
    })
    expect(made.segmentation_conditions).toEqual([{ metric: 'country', comparator: 'eq', value: 'DE', negate: false }])
    await sooner(made.id)
    const same = await api.call('PUT', made.url, {
      body: { name: 'Paywall', context_key: 'main', segment_percent: 12.5, segmentation_conditions: made.segmentation_conditions },
    })
    expect(same.body.updated_at < made.updated_at).toBe(true)
    const replaced = await api.call('PUT', made.url, { body: { name: 'Other' } })
    expect(replaced.body).toMatchObject({ name: 'Other', context_key: null, segment_percent: 100, segmentation_conditions: [] })
    expect(replaced.body.updated_at > replaced.body.created_at).toBe(true)
    expect((await entries(made.id)).map(entry => entry.operation)).toEqual(['v4CreateRemoteConfiguration', 'v4UpdateRemoteConfiguration'])
  })

  test('is listed newest first, page by page, without payload', async () => {
    const project = await api.newProject()
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.unshift((await make({ name: `n${i}` }, project.secret)).id)
    await api.pool.query("update remote_configurations set created_at = '2026-01-01T00:00:00Z' where environment = $1", [
      project.production,
    ])
    const ordered = [...ids].sort().reverse()
    const first = await api.call('GET', `${URL}?limit=2`, { key: project.secret })
    expect(first.body).toMatchObject({ has_more: true, next_cursor: ordered[1] })
    expect(first.body.data[0]).not.toHaveProperty('payload')
    const second = await api.call('GET', `${URL}?limit=3&starting_after=${ordered[1]}`, { key: project.secret })
    expect([...first.body.data, ...second.body.data].map(c => c.id)).toEqual(ordered)
    expect(second.body.has_more).toBe(false)
    const gone = await api.call('GET', `${URL}?starting_after=${(await make()).id}`, { key: project.secret })
    expect(gone.headers.get('x-qon-pagination-restarted')).toBe('true')
    expect(gone.body.data).toHaveLength(5)
  })

  test('of the other environment or another project is not found by any operation', async () => {
    const made = await make()
    const other = await api.newProject()
    const user = await newUser()
    for (const key of [api.project.sandbox, other.secret])
      for (const [method, path, body] of [
        ['GET', ''],
        ['PUT', '', { name: 'x' }],
        ['DELETE', ''],
        ['PATCH', '/status', { status: 'active' }],
        ['GET', '/payload'],
        ['PUT', '/payload', { data: {} }],
        ['GET', '/payload-mapping'],
        ['POST', '/payload-mapping', { data: {} }],
        ['POST', `/users/${user}`],
        ['DELETE', `/users/${user}`],
      ] as const) {
        const answer = await api.call(method, `${made.url}${path}`, { key, ...(body && { body }) })
        expect([answer.status, answer.body.error.code], `${method} ${path}`).toEqual([404, 'not_found'])
      }
  })
})

describe('states', () => {
  test('draft to active to archived; the same status again is no change; archived is final', async () => {
    const { id } = await make()
    await sooner(id)
    expect((await become(id, 'draft')).body.status).toBe('draft')
    const active = await become(id, 'active')
    expect(active.body.status).toBe('active')
    await sooner(id)
    const again = await become(id, 'active')
    expect(again.status).toBe(200)
    expect(again.body.updated_at < active.body.updated_at).toBe(true)
    expect((await become(id, 'draft')).status).toBe(409)
    expect((await become(id, 'archived')).body.status).toBe('archived')
    expect((await become(id, 'archived')).status).toBe(200)
    for (const status of ['draft', 'active']) expect((await become(id, status)).body.error.code).toBe('conflict')
    expect((await entries(id)).map(entry => entry.after?.status)).toEqual(['draft', 'active', 'archived'])
  })

  test('a draft can be archived; an archived configuration is read-only, but can be deleted', async () => {
    const { id, url } = await make()
    const user = await newUser()
    await become(id, 'archived')
    for (const [method, path, body] of [
      ['PUT', '', { name: 'Paywall' }],
      ['PUT', '/payload', { data: {} }],
      ['POST', '/payload-mapping', { data: {} }],
      ['POST', `/users/${user}`, undefined],
    ] as const)
      expect((await api.call(method, url + path, { body })).body.error.code, path).toBe('conflict')
    expect((await api.call('DELETE', `${url}/users/${user}`)).status).toBe(204)
    expect((await api.call('DELETE', url)).status).toBe(204)
    expect((await api.call('DELETE', url)).status).toBe(404)
  })

  test('a configuration with a condition on a deleted segment cannot be activated', async () => {
    await api.pool.query(
      `insert into segments (environment, id, name, conditions, created_at, updated_at) values ($1, 'seg_gone', 'x', '[]', now(), now())`,
      [api.project.production],
    )
    const { id } = await make({ segmentation_conditions: [{ metric: 'segment', comparator: 'ne', value: 'seg_gone' }] })
    await api.pool.query(`delete from segments where id = 'seg_gone'`)
    const refused = await become(id, 'active')
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
    expect(refused.body.error.message).toContain('seg_gone')
  })
})

describe('payload and mapping', () => {
  test('are replaced as a whole and keep the order of keys', async () => {
    const { id, url } = await make()
    const data = { z: 1, a: { deep: [null, 'ü'] }, 'with space': true }
    const put = await api.call('PUT', `${url}/payload`, { body: { data } })
    expect(put.body).toEqual({ object: 'remote_config_payload', url: `${url}/payload`, config_id: id, data })
    expect(Object.keys((await api.call('GET', url)).body.payload)).toEqual(['z', 'a', 'with space'])
    expect((await api.call('GET', `${url}/payload`)).body).toEqual(put.body)
    await api.call('PUT', `${url}/payload`, { body: { data } })
    expect((await api.call('PUT', `${url}/payload`, { body: { data: {} } })).body.data).toEqual({})
    expect(await entries(id)).toHaveLength(3)
    const mapping = await api.call('POST', `${url}/payload-mapping`, { body: { data: { z: 'Number', a: 'Json' } } })
    expect(mapping.body).toMatchObject({ object: 'remote_config_payload_mapping', data: { z: 'Number', a: 'Json' } })
    expect((await api.call('GET', `${url}/payload-mapping`)).body).toEqual(mapping.body)
  })

  test.each([[[]], ['x'], [null], [undefined]])('a payload must be an object, not %j', async data => {
    const { url } = await make()
    const wrong = await api.call('PUT', `${url}/payload`, { body: { data } })
    expect(wrong.status).toBe(400)
    expect(wrong.body.error.details[0].field).toBe('data')
  })

  test('a payload has no string with NUL or half a surrogate pair, at any depth', async () => {
    const { url } = await make()
    for (const [data, field] of [
      [{ a: [{ b: '\0' }] }, 'data.a[0].b'],
      [{ a: { '\ud800': 1 } }, 'data.a'],
    ]) {
      const wrong = await api.call('PUT', `${url}/payload`, { body: { data } })
      expect(wrong.body.error?.details?.[0].field).toBe(field)
    }
  })

  test('a request of 64 KiB is accepted, one byte more is not', async () => {
    const { url } = await make()
    const body = (bytes: number) => {
      const empty = JSON.stringify({ data: { a: '' } }).length
      return JSON.stringify({ data: { a: 'x'.repeat(bytes - empty) } })
    }
    const headers = { 'Content-Type': 'application/json' }
    expect((await api.call('PUT', `${url}/payload`, { raw: body(65_536), headers })).status).toBe(200)
    expect((await api.call('PUT', `${url}/payload`, { raw: body(65_537), headers })).status).toBe(413)
  })

  test('a mapping has known types, at most 500 keys of 1 to 256 characters', async () => {
    const { url } = await make()
    const set = (data: unknown) => api.call('POST', `${url}/payload-mapping`, { body: { data } })
    const keys = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, 'Color']))
    expect((await set(keys(500))).status).toBe(200)
    for (const wrong of [keys(501), { a: 'string' }, { '': 'String' }, { ['k'.repeat(257)]: 'String' }, []])
      expect((await set(wrong)).status).toBe(400)
  })
})
