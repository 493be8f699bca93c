import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkConditions } from '../../domain/audience/segments/check.ts'
import { lockSegments, missingSegments } from '../../domain/audience/segments/missing.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
})
afterAll(() => api.stop())

const newSegment = async (): Promise<string> => (await api.call('POST', '/v4/segments', { body: { name: 'Any' } })).body.id
const naming = (id: string) => [{ metric: 'segment', comparator: 'ne' as const, value: id, negate: true }]
const remove = (id: string) => api.call('DELETE', `/v4/segments/${id}`)

const configuration = (id: string, status: string) =>
  api.pool.query(
    `insert into remote_configurations (environment, id, name, status, segment_percent, segmentation_conditions, created_at, updated_at)
     values ($1, $2, 'C', $3, 100, $4, now(), now())`,
    [environment, `c-${id}-${status}`, status, JSON.stringify(naming(id))],
  )
const experiment = (id: string, status: string) =>
  api.pool.query(
    `insert into experiments (environment, id, name, alias_id, status, context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
     values ($1, $2, 'X', $2, $3, '', false, $4, now(), now())`,
    [environment, `x-${id}-${status}`, status, JSON.stringify(naming(id))],
  )
const exportOf = (id: string, status: string) =>
  api.pool.query(
    `insert into exports (environment, id, status, type, format, compression, segment_id, from_timestamp, to_timestamp, window_from, window_to,
       from_offsets, to_offsets, created_at)
     values ($1, $2, $3, 'events', 'csv', 'none', $4, now(), now(), now(), now(), '{}', '{}', now())`,
    [environment, `e-${id}-${status}`, status, id],
  )

describe('deleting a segment', () => {
  test('succeeds once', async () => {
    const id = await newSegment()
    expect((await remove(id)).status).toBe(204)
    expect((await api.call('GET', `/v4/segments/${id}`)).status).toBe(404)
    expect((await remove(id)).status).toBe(404)
    const { rows } = await api.pool.query(`select before ->> 'id' as id, after from audit_log where operation = 'v4DeleteSegment'`)
    expect(rows).toEqual([{ id, after: null }])
  })

  test.each([
    ['an active remote configuration', configuration, 'active'],
    ['an active experiment', experiment, 'active'],
    ['a paused experiment', experiment, 'paused'],
    ['a new export', exportOf, 'new'],
    ['an export in progress', exportOf, 'processing'],
  ])('is refused while %s refers to it', async (_, insert, status) => {
    const id = await newSegment()
    await insert(id, status)
    const answer = await remove(id)
    expect(answer.status).toBe(409)
    expect(answer.body.error).toMatchObject({ type: 'resource', code: 'conflict' })
    expect((await api.call('GET', `/v4/segments/${id}`)).status).toBe(200)
  })

  test('is not refused by resources that are not in use or refer to another segment', async () => {
    const [id, other] = [await newSegment(), await newSegment()]
    await configuration(id, 'draft')
    await configuration(id, 'archived')
    await experiment(id, 'draft')
    await experiment(id, 'finished')
    await exportOf(id, 'done')
    await exportOf(id, 'failed')
    await configuration(other, 'active')
    expect((await remove(id)).status).toBe(204)
  })

  test('concurrent with a new reference leaves either the reference or no segment', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 25 }, async (_, i) => {
        const id = await newSegment()
        const refer = () =>
          transaction(api.pool, async tx => {
            await checkConditions(tx, environment, naming(id), 'segmentation_conditions', true)
            await tx.query(
              `insert into remote_configurations (environment, id, name, status, segment_percent, segmentation_conditions, created_at, updated_at)
               values ($1, $2, 'C', 'active', 100, $3, now(), now())`,
              [environment, `race-${i}`, JSON.stringify(naming(id))],
            )
          }).then(
            () => 'held',
            error => error.code,
          )
        const first = i % 2 ? undefined : remove(id)
        const [referred, removed] = await Promise.all([refer(), first ?? remove(id)])
        return [referred, removed.status]
      }),
    )
    for (const outcome of outcomes)
      expect([
        ['held', 409],
        ['invalid_data', 204],
      ]).toContainEqual(outcome)
  })
})

describe('a reference to a segment', () => {
  const check = (conditions: Parameters<typeof checkConditions>[2], field = 'segmentation_conditions') =>
    transaction(api.pool, tx => checkConditions(tx, environment, conditions, field, true))

  test('can be to own and system segments, not to unknown ones and those of other environments', async () => {
    const id = await newSegment()
    expect(await check([{ metric: 'segment', comparator: 'eq', value: id }])).toEqual([
      { metric: 'segment', comparator: 'eq', value: id, negate: false },
    ])
    expect(await check(naming('never_paid'))).toEqual(naming('never_paid'))
    const { body } = await api.call('POST', '/v4/segments', { key: api.project.sandbox, body: { name: 'Sandbox' } })
    for (const value of [body.id, 'seg_unknown', ''])
      await expect(check([...naming(id), ...naming(value)])).rejects.toMatchObject({
        code: 'invalid_data',
        details: [{ field: 'segmentation_conditions[1].value' }],
      })
  })

  test('or an experiment must exist, and a context key must be well-formed', async () => {
    await experiment('none', 'finished')
    const named = (value: string) => [{ metric: 'attached_experiment', comparator: 'eq' as const, value }]
    expect(await check(named('x-none-finished'))).toHaveLength(1)
    await expect(check(named('exp_unknown'))).rejects.toMatchObject({ details: [{ field: 'segmentation_conditions[0].value' }] })
    const key = (value: string) => [{ metric: 'attached_experiment_context_key', comparator: 'ne' as const, value }]
    expect(await check(key(''))).toHaveLength(1)
    await expect(check(key('a b'), 'c')).rejects.toMatchObject({ details: [{ field: 'c[0].value' }] })
  })

  test('that is deleted is reported', async () => {
    const [id, gone] = [await newSegment(), await newSegment()]
    await remove(gone)
    await transaction(api.pool, async tx => {
      expect(await missingSegments(tx, environment, [...naming(id), ...naming(gone), ...naming('never_paid')])).toEqual([gone])
      expect(await lockSegments(tx, environment, [])).toEqual([])
    })
  })
})

describe('X-Segment-Size', () => {
  const size = async (conditions: unknown[]) =>
    (await api.call('POST', '/v4/segments', { body: { name: 'Sized', conditions } })).headers.get('x-segment-size')

  test('has the number of users in the segment, at creation and at each update', async () => {
    for (const _ of [1, 2, 3]) await api.call('POST', '/v4/users', { body: { environment: 'prod' } })
    await api.call('POST', '/v4/users', { key: api.project.sandbox, body: { environment: 'sandbox' } })
    const user = (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body.id
    expect(await size([])).toBe('4')
    const one = { metric: 'client_uid', comparator: 'eq', value: user }
    expect(await size([one])).toBe('1')
    expect(await size([{ ...one, negate: true }])).toBe('3')
    const { body } = await api.call('POST', '/v4/segments', { body: { name: 'Sized', conditions: [one] } })
    const put = (more: object) => api.call('PUT', body.url, { body: { name: 'Other', ...more } })
    expect((await put({})).headers.get('x-segment-size')).toBe('1')
    expect((await put({ conditions: [] })).headers.get('x-segment-size')).toBe('4')
  })

  test('is left out when the users cannot be counted in time; the segment is still created', async () => {
    const blocker = await api.pool.connect()
    try {
      await blocker.query('begin; lock table users in access exclusive mode')
      const made = await api.call('POST', '/v4/segments', { body: { name: 'Blocked' }, headers: { 'Idempotency-Key': 'blocked' } })
      expect(made.status).toBe(201)
      expect(made.headers.get('x-segment-size')).toBeNull()
      expect((await api.call('GET', made.body.url)).status).toBe(200)
    } finally {
      await blocker.query('rollback')
      blocker.release()
    }
  })
})
