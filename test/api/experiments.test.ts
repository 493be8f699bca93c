import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'

let api: TestApi
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
})
afterAll(() => api.stop())

const operations = async (id: string) =>
  (await api.pool.query('select operation from audit_log where resource_id = $1 order by id', [id])).rows.map(row => row.operation)
const sooner = (id: string) => api.pool.query(`update experiments set updated_at = updated_at - interval '1 hour' where id = $1`, [id])

describe('an experiment', () => {
  test('is created as a draft with defaults, without conditions while there are none', async () => {
    const made = await api.call('POST', '/v4/experiments', { body: { name: 'Sale', alias_id: 'sale' } })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      object: 'experiment',
      id: expect.stringMatching(/^exp_[0-9a-z]{20}$/),
      url: `/v4/experiments/${made.body.id}`,
      name: 'Sale',
      alias_id: 'sale',
      description: null,
      status: 'draft',
      started_at: null,
      finished_at: null,
      segment_percent: null,
      primary_metric: null,
      goal_value: null,
      goal_direction: null,
      context_key: '',
      is_context_specific: false,
      created_at: made.body.updated_at,
      updated_at: expect.any(String),
    })
    expect(made.headers.get('location')).toBe(made.body.url)
    expect((await api.call('GET', made.body.url)).body).toEqual(made.body)
    const audience = await make.experiment({ segmentation_conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }] })
    expect(audience.segmentation_conditions).toEqual([{ metric: 'country', comparator: 'eq', value: 'DE', negate: false }])
  })

  test('has a unique alias: fifty concurrent creations or changes have one success', async () => {
    const many = await Promise.all(
      Array.from({ length: 50 }, () => api.call('POST', '/v4/experiments', { body: { name: 'x', alias_id: 'raced' } })),
    )
    expect(many.filter(answer => answer.status === 201)).toHaveLength(1)
    const refused = many.filter(answer => answer.status !== 201)
    expect(new Set(refused.map(answer => `${answer.status} ${answer.body.error.code}`))).toEqual(new Set(['409 already_exists']))
    const other = await make.experiment()
    const taken = await api.call('PATCH', other.url, { body: { alias_id: 'raced' } })
    expect([taken.status, taken.body.error.code]).toEqual([409, 'already_exists'])
    expect((await api.call('POST', '/v4/experiments', { key: api.project.sandbox, body: { name: 'x', alias_id: 'raced' } })).status).toBe(
      201,
    )
  })

  test('changes only in given fields that differ', async () => {
    const made = await make.experiment({ goal_value: 4.5 })
    await sooner(made.id)
    const still = await api.call('PATCH', made.url, { body: { name: made.name, goal_value: 4.5, segmentation_conditions: [] } })
    expect(still.body.updated_at < made.updated_at).toBe(true)
    expect((await api.call('PATCH', made.url, { body: {} })).body).toEqual(still.body)
    const changed = await api.call('PATCH', made.url, { body: { goal_value: null, segment_percent: 12.5, primary_metric: 'sales' } })
    expect(changed.body).toMatchObject({ goal_value: null, segment_percent: 12.5, primary_metric: 'sales', name: made.name })
    expect(changed.body.updated_at > still.body.updated_at).toBe(true)
    expect(await operations(made.id)).toEqual(['v4CreateExperiment', 'v4UpdateExperiment'])
  })

  test('is refused with the faulty fields', async () => {
    const wrong = await api.call('POST', '/v4/experiments', {
      body: { name: 'x', alias_id: '..', segment_percent: -1, context_key: 'a b', primary_metric: 'money', started_at: null },
    })
    expect(wrong.status).toBe(400)
    expect(new Set(wrong.body.error.details.map((d: { field: string }) => d.field))).toEqual(
      new Set(['alias_id', 'segment_percent', 'context_key', 'primary_metric', 'started_at']),
    )
  })

  test('of the other environment or another project is not found by any operation', async () => {
    const { id, groups } = await make.running()
    const user = await make.user()
    for (const key of [api.project.sandbox, (await api.newProject()).secret])
      for (const [method, path, body] of [
        ['GET', ''],
        ['PATCH', '', {}],
        ['DELETE', ''],
        ['POST', '/status', { status: 'active' }],
        ['GET', '/groups'],
        ['POST', '/groups', { weight: 1 }],
        ['PATCH', `/groups/${groups[0]}`, {}],
        ['DELETE', `/groups/${groups[0]}`],
        ['POST', `/users/${user}`, { group_id: groups[0] }],
        ['DELETE', `/users/${user}`],
      ] as const) {
        const answer = await api.call(method, `/v4/experiments/${id}${path}`, { key, ...(body && { body }) })
        expect([answer.status, answer.body.error.code], `${method} ${path}`).toEqual([404, 'not_found'])
      }
  })

  test('is listed newest first, page by page', async () => {
    const project = await api.newProject()
    const own = growth(api, project.secret)
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.unshift((await own.experiment()).id)
    const first = await own.call('GET', '/v4/experiments?limit=2')
    expect(first.body).toMatchObject({ has_more: true, next_cursor: ids[1] })
    const second = await own.call('GET', `/v4/experiments?limit=2&starting_after=${ids[1]}`)
    expect([...first.body.data, ...second.body.data].map(e => e.id)).toEqual(ids)
  })
})

describe('states', () => {
  test('go from draft over active and paused to finished, and in no other order', async () => {
    const { id } = await make.running({}, [{}, {}], 'draft')
    const walk = async (to: string) => {
      const { status, body } = await make.status(id, to)
      return status === 200 ? body.status : `${status} ${body.error.code}`
    }
    const seen: string[] = []
    for (const to of [
      'draft',
      'paused',
      'finished',
      'active',
      'active',
      'draft',
      'paused',
      'paused',
      'active',
      'paused',
      'finished',
      'finished',
    ])
      seen.push(await walk(to))
    expect(seen).toEqual([
      ...['draft', '409 conflict', '409 conflict', 'active', 'active', '409 conflict', 'paused', 'paused', 'active', 'paused'],
      ...['finished', 'finished'],
    ])
    for (const to of ['draft', 'active', 'paused']) expect(await walk(to)).toBe('409 conflict')
    expect((await operations(id)).filter(name => name === 'v4ChangeExperimentStatus')).toHaveLength(5)
  })

  test('the first activation sets the start, and the end is final', async () => {
    const { id } = await make.running()
    await api.pool.query(`update experiments set started_at = '2026-01-01T00:00:00Z' where id = $1`, [id])
    await make.status(id, 'paused')
    expect((await make.status(id, 'active')).body).toMatchObject({ started_at: '2026-01-01T00:00:00Z', finished_at: null })
    const finished = (await make.status(id, 'finished')).body
    expect(finished.finished_at).toBe(finished.updated_at)
  })

  test('a refused activation names what is missing', async () => {
    const { id } = await make.experiment()
    const refused = async () => {
      const { status, body } = await make.status(id, 'active')
      expect([status, body.error?.code]).toEqual([409, 'conflict'])
      return body.error.message
    }
    expect(await refused()).toContain('two groups')
    const first = await make.group(id, { weight: 0 })
    await make.group(id, { weight: 0 })
    expect(await refused()).toContain('control')
    await api.call('PATCH', first.url, { body: { is_control: true } })
    expect(await refused()).toContain('weights')
    await api.call('PATCH', first.url, { body: { weight: 0.5 } })
    expect((await make.status(id, 'active')).status).toBe(200)
  })

  test('an experiment with a condition on a deleted segment cannot be activated', async () => {
    await api.pool.query(
      `insert into segments (environment, id, name, conditions, created_at, updated_at) values ($1, 'seg_x', 'x', '[]', now(), now())`,
      [api.project.production],
    )
    const conditions = [{ metric: 'segment', comparator: 'eq', value: 'seg_x', negate: true }]
    const { id } = await make.running({ segmentation_conditions: conditions }, [{}, {}], 'draft')
    await api.pool.query(`delete from segments where id = 'seg_x'`)
    expect((await make.status(id, 'active')).body.error.message).toContain('seg_x')
    const same = await api.call('PATCH', `/v4/experiments/${id}`, { body: { segmentation_conditions: conditions } })
    expect(same.status).toBe(200)
  })

  test('fields that select users change only in a draft, no field when finished; unchanged values are always accepted', async () => {
    const { id } = await make.running()
    const url = `/v4/experiments/${id}`
    const present = (await api.call('GET', url)).body
    const patch = (body: object) => api.call('PATCH', url, { body })
    for (const body of [
      { alias_id: 'another' },
      { context_key: 'another' },
      { is_context_specific: true },
      { segmentation_conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }] },
    ])
      expect((await patch(body)).body.error.code).toBe('conflict')
    const { name, alias_id, context_key, is_context_specific } = present
    expect((await patch({ name, alias_id, context_key, is_context_specific, segmentation_conditions: [] })).body).toEqual(present)
    expect((await patch({ segment_percent: 10, description: 'later' })).body.segment_percent).toBe(10)
    await make.status(id, 'finished')
    expect((await patch({ description: 'too late' })).body.error.code).toBe('conflict')
    expect((await patch({ description: 'later' })).status).toBe(200)
  })

  test('an experiment can be deleted only as draft or finished, with its groups and assignments', async () => {
    const { id, groups } = await make.running()
    const user = await make.user()
    await make.call('POST', `/v4/experiments/${id}/users/${user}`, { group_id: groups[1] })
    for (const to of ['active', 'paused']) {
      await make.status(id, to)
      expect((await make.call('DELETE', `/v4/experiments/${id}`)).body.error.code).toBe('conflict')
    }
    await make.status(id, 'finished')
    expect((await make.call('DELETE', `/v4/experiments/${id}`)).status).toBe(204)
    expect((await make.call('GET', `/v4/experiments/${id}/groups`)).status).toBe(404)
    const left = await api.pool.query('select 1 from experiment_assignments where experiment_id = $1', [id])
    expect(left.rowCount).toBe(0)
    expect((await make.call('DELETE', `/v4/experiments/${id}`)).status).toBe(404)
  })
})
