import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await api.pool.query(`insert into entitlements (environment, id, created_at, updated_at) values ($1, 'plus', now(), now())`, [
    api.project.production,
  ])
})
afterAll(() => api.stop())

const create = (body: unknown, headers: Record<string, string> = {}) => api.call('POST', '/v4/segments', { body, headers })
const newSegment = async (conditions: unknown[] = []): Promise<string> => (await create({ name: 'Any', conditions })).body.id
const trial = { metric: 'subscription_state', comparator: 'eq', value: 'trial' }
const entriesAbout = async (id: string) =>
  (await api.pool.query('select operation, before, after from audit_log where resource_id = $1 order by id', [id])).rows

describe('segments', () => {
  test('a created segment has its conditions with negate and can be read', async () => {
    const made = await create({ name: 'Trials', conditions: [trial, { ...trial, comparator: 'ne', value: 'none', negate: true }] })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(made.body.url)
    expect(made.body).toMatchObject({
      object: 'segment',
      url: `/v4/segments/${made.body.id}`,
      name: 'Trials',
      is_system: false,
      conditions: [
        { ...trial, negate: false },
        { ...trial, comparator: 'ne', value: 'none', negate: true },
      ],
      updated_at: made.body.created_at,
    })
    expect(made.body.id).toMatch(/^seg_[0-9a-z]{20}$/)
    expect(Object.keys(made.body.conditions[0])).toEqual(['metric', 'comparator', 'value', 'negate'])
    expect((await api.call('GET', made.body.url)).body).toEqual({ ...made.body, used_by: [], used_by_has_more: false })
    expect(await entriesAbout(made.body.id)).toEqual([{ operation: 'v4CreateSegment', before: null, after: made.body }])
  })

  test('an update replaces the conditions, clears them, or leaves them', async () => {
    const id = await newSegment([trial])
    const put = (body: unknown) => api.call('PUT', `/v4/segments/${id}`, { body })
    expect((await put({ name: 'Renamed' })).body).toMatchObject({ name: 'Renamed', conditions: [{ ...trial, negate: false }] })
    const other = { ...trial, value: 'active', negate: true }
    expect((await put({ name: 'Renamed', conditions: [other] })).body.conditions).toEqual([other])
    expect((await put({ name: 'Renamed', conditions: [] })).body.conditions).toEqual([])
    expect((await put({ conditions: [] })).body.error.details).toEqual([{ field: 'name', message: 'is required' }])
  })

  test('an unchanged update leaves no entry', async () => {
    const id = await newSegment([trial])
    await api.pool.query(`update segments set updated_at = '2020-01-01' where id = $1`, [id])
    const same = await api.call('PUT', `/v4/segments/${id}`, { body: { name: 'Any', conditions: [{ negate: false, ...trial }] } })
    expect(same.status).toBe(200)
    expect(same.body.updated_at).toBe('2020-01-01T00:00:00Z')
    expect(await entriesAbout(id)).toHaveLength(1)
  })

  test('a repeat with the same Idempotency-Key creates no second segment', async () => {
    const first = await create({ name: 'Once' }, { 'Idempotency-Key': 'once' })
    const again = await create({ name: 'Once' }, { 'Idempotency-Key': 'once' })
    expect(again.status).toBe(201)
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
  })

  test('the list has own segments, newest first, page by page', async () => {
    const project = await api.newProject()
    const call = (method: string, path: string, body?: unknown) => api.call(method, path, { key: project.secret, body })
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.unshift((await call('POST', '/v4/segments', { name })).body.id)
    const first = await call('GET', '/v4/segments?limit=2')
    expect(first.body).toMatchObject({ object: 'list', url: '/v4/segments', has_more: true, next_cursor: ids[1] })
    const second = await call('GET', `/v4/segments?limit=2&starting_after=${ids[1]}`)
    expect([...first.body.data, ...second.body.data].map(({ id }: { id: string }) => id)).toEqual(ids)
    expect(second.body.has_more).toBe(false)
    const lost = await call('GET', '/v4/segments?limit=1&starting_after=never_paid')
    expect(lost.headers.get('x-qon-pagination-restarted')).toBe('true')
    expect(lost.body.data[0].id).toBe(ids[0])
  })

  test('a segment of the other environment or another project is not found', async () => {
    const id = await newSegment()
    const other = await api.newProject()
    for (const key of [api.project.sandbox, other.secret]) {
      expect((await api.call('GET', `/v4/segments/${id}`, { key })).status).toBe(404)
      expect((await api.call('PUT', `/v4/segments/${id}`, { key, body: { name: 'x' } })).status).toBe(404)
      expect((await api.call('DELETE', `/v4/segments/${id}`, { key })).status).toBe(404)
    }
    expect((await api.call('GET', `/v4/segments/${id}`)).status).toBe(200)
  })

  test('fifty concurrent updates of one segment all succeed, and one of them remains', async () => {
    const id = await newSegment()
    const names = Array.from({ length: 50 }, (_, i) => `Name ${i}`)
    const answers = await Promise.all(names.map(name => api.call('PUT', `/v4/segments/${id}`, { body: { name } })))
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 200))
    const entries = await entriesAbout(id)
    expect(entries).toHaveLength(51)
    expect((await api.call('GET', `/v4/segments/${id}`)).body.name).toBe(entries.at(-1).after.name)
  })
})

describe('system segments', () => {
  test('have a separate list, and are as old as the environment', async () => {
    const { rows } = await api.pool.query('select created_at from environments where id = $1', [api.project.production])
    const list = await api.call('GET', '/v4/segments/system')
    expect(list.body).toMatchObject({ object: 'list', url: '/v4/segments/system', has_more: false })
    expect(list.body.data.map(({ id }: { id: string }) => id)).toEqual([
      'active_subscribers',
      'active_trials',
      'billing_retry',
      'churned_users',
      'never_paid',
    ])
    for (const segment of list.body.data) {
      expect(segment).toMatchObject({ is_system: true, created_at: rows[0].created_at, updated_at: rows[0].created_at })
      expect((await api.call('GET', segment.url)).body).toEqual({ ...segment, used_by: [], used_by_has_more: false })
    }
    expect(list.body.data[4].conditions).toEqual([{ metric: 'purchases_count', comparator: 'eq', value: '0', negate: false }])
  })

  test('cannot be changed or deleted', async () => {
    const put = await api.call('PUT', '/v4/segments/never_paid', { body: { name: 'x' } })
    const gone = await api.call('DELETE', '/v4/segments/never_paid')
    for (const { status, body } of [put, gone]) {
      expect(status).toBe(403)
      expect(body.error).toMatchObject({ type: 'request', code: 'control_forbidden' })
    }
  })
})

describe('conditions', () => {
  test.each([
    ['an unknown metric', { metric: 'shoe_size', comparator: 'eq', value: '43' }, 'metric'],
    ['a metric named like a method', { metric: 'toString', comparator: 'eq', value: '43' }, 'metric'],
    ['a comparator that the metric has not', { metric: 'country', comparator: 'gt', value: 'DE' }, 'comparator'],
    ['an order of enums', { ...trial, comparator: 'gte' }, 'comparator'],
    ['a value outside the enum', { ...trial, value: 'Trial' }, 'value'],
    ['a platform in other letters', { metric: 'target_platform', comparator: 'eq', value: 'ios' }, 'value'],
    ['a country that is none', { metric: 'country', comparator: 'eq', value: 'Germany' }, 'value'],
    ['a truth that is none', { metric: 'renewable', comparator: 'eq', value: 'yes' }, 'value'],
    ['a fraction of purchases', { metric: 'purchases_count', comparator: 'gt', value: '1.5' }, 'value'],
    ['an exponent', { metric: 'revenue_usd', comparator: 'gt', value: '1e3' }, 'value'],
    ['February 30', { metric: 'install_date', comparator: 'gt', value: '2026-02-30' }, 'value'],
    ['a date-time without zone', { metric: 'install_date', comparator: 'gt', value: '2026-02-01T00:00:00' }, 'value'],
    ['a duration into the future', { metric: 'last_seen', comparator: 'gt', value: 'P30D' }, 'value'],
    ['an empty duration', { metric: 'last_seen', comparator: 'gt', value: '-P1DT' }, 'value'],
    ['a reserved property key', { metric: 'property:_mine', comparator: 'eq', value: '' }, 'metric'],
    ['a property key without letter', { metric: 'property:1', comparator: 'eq', value: '' }, 'metric'],
    ['an entitlement that does not exist', { metric: 'entitlement:gold', comparator: 'eq', value: '1' }, 'metric'],
    ['an entitlement without id', { metric: 'entitlement:', comparator: 'eq', value: '1' }, 'metric'],
    ['a segment in a segment', { metric: 'segment', comparator: 'eq', value: 'never_paid' }, 'metric'],
    ['an experiment in a segment', { metric: 'attached_experiment', comparator: 'eq', value: 'exp_1' }, 'metric'],
    ['a context key in a segment', { metric: 'attached_experiment_context_key', comparator: 'eq', value: '' }, 'metric'],
  ])('%s is refused with its field', async (_, condition, field) => {
    const answer = await create({ name: 'Wrong', conditions: [trial, condition] })
    expect(answer.status).toBe(400)
    expect(answer.body.error.code).toBe('invalid_data')
    expect(answer.body.error.details).toEqual([{ field: `conditions[1].${field}`, message: expect.any(String) }])
  })

  test('all faulty conditions are reported at once, by an update, too', async () => {
    const id = await newSegment()
    const conditions = [
      { ...trial, value: '' },
      trial,
      { ...trial, metric: 'x' },
      { metric: 'entitlement:gold', comparator: 'eq', value: '1' },
    ]
    const answer = await api.call('PUT', `/v4/segments/${id}`, { body: { name: 'x', conditions } })
    expect(answer.body.error.details.map(({ field }: { field: string }) => field)).toEqual([
      'conditions[0].value',
      'conditions[2].metric',
      'conditions[3].metric',
    ])
  })

  test.each([
    { metric: 'entitlement:plus', comparator: 'ne', value: 'true' },
    { metric: 'property:_q_email', comparator: 'contains', value: '' },
    { metric: 'app_version', comparator: 'gte', value: 'beta' },
    { metric: 'country', comparator: 'eq', value: 'de' },
    { metric: 'install_date', comparator: 'eq', value: '2024-02-29' },
    { metric: 'last_seen', comparator: 'lt', value: '-P1Y2M3DT4H5M6S' },
    { metric: 'revenue_usd', comparator: 'lt', value: '-000000000000000000000000000000.000000000000000000000000000001' },
    { metric: 'client_uid', comparator: 'ne', value: '😀'.repeat(1024) },
  ])('%j is accepted', async condition => {
    expect((await create({ name: 'Right', conditions: [condition] })).body.conditions).toEqual([{ ...condition, negate: false }])
  })

  test('are at most fifty, and their shape is validated', async () => {
    const name = 'Many'
    const full = await create({ name, conditions: Array(50).fill(trial) })
    expect(full.status).toBe(201)
    expect(full.headers.get('x-segment-size')).not.toBeNull()
    expect((await create({ name, conditions: Array(51).fill(trial) })).body.error.details[0].field).toBe('conditions')
    const shapes = await create({
      name,
      conditions: [
        { ...trial, value: 1 },
        { ...trial, more: 1 },
        { ...trial, comparator: 'like' },
      ],
    })
    expect(shapes.body.error.details.map(({ field }: { field: string }) => field)).toEqual([
      'conditions[0].value',
      'conditions[1].more',
      'conditions[2].comparator',
    ])
  })
})
