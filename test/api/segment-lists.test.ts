import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { on } from '../automations/fixture.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'

let api: TestApi
let make: ReturnType<typeof growth>
let anna: string
let bert: string
let carl: string
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
  ;[anna, bert, carl] = [await make.user(), await make.user(), await make.user()].sort() as [string, string, string]
  await make.call('POST', `/v4/users/${anna}/properties`, { properties: [{ key: 'plan', value: 'gold' }] })
})
afterAll(() => api.stop())

const gold = { metric: 'property:plan', comparator: 'eq', value: 'gold' }
const create = (body: object) => make.call('POST', '/v4/segments', { name: 'A list', ...body })
const put = (id: string, body: object) => make.call('PUT', `/v4/segments/${id}`, { name: 'A list', ...body })
const preview = (body: object, key?: string) => api.call('POST', '/v4/segments/preview', { body, ...(key && { key }) })
const sizeOf = async (body: object) => (await preview(body)).body.size
const usersOn = async (id: string) => (await make.call('GET', `/v4/segments/${id}/users`)).body.data.map((each: { id: string }) => each.id)

describe('a segment of people on a list', () => {
  test('has those of them who meet its conditions', async () => {
    const made = await create({ user_ids: [bert, anna, bert], conditions: [gold] })
    expect([made.status, made.body.listed, made.headers.get('x-segment-size')]).toEqual([201, 2, '1'])
    const { id } = made.body
    expect(await usersOn(id)).toEqual([anna, bert])
    expect(await sizeOf({ listed_in: id })).toBe(2)
    expect((await make.call('GET', '/v4/segments')).body.data[0]).toMatchObject({ id, listed: 2 })
  })

  test('is replaced, kept and taken away', async () => {
    const { id, updated_at } = (await create({ user_ids: [anna, bert] })).body
    const replaced = await put(id, { user_ids: [bert, carl] })
    expect([replaced.body.listed, replaced.headers.get('x-segment-size')]).toEqual([2, '2'])
    expect(await usersOn(id)).toEqual([bert, carl])
    expect(replaced.body.updated_at >= updated_at).toBe(true)
    const kept = await put(id, { conditions: [gold] })
    expect([kept.body.listed, kept.headers.get('x-segment-size')]).toEqual([2, '0'])
    const nobody = await put(id, { user_ids: [], conditions: [] })
    expect([nobody.body.listed, nobody.headers.get('x-segment-size')]).toEqual([0, '0'])
    const everybody = await put(id, { user_ids: null })
    expect(everybody.body.listed).toBeNull()
    expect(Number(everybody.headers.get('x-segment-size'))).toBeGreaterThanOrEqual(3)
    const { rows } = await api.pool.query(`select after ->> 'listed' as n from audit_log where resource_id = $1 order by id`, [id])
    expect(rows.map(({ n }) => n)).toEqual(['2', '2', '2', '0', null])
    await put(id, { user_ids: null })
    expect((await api.pool.query('select 1 from audit_log where resource_id = $1', [id])).rowCount).toBe(5)
  })

  test('is paged by id', async () => {
    const { id } = (await create({ user_ids: [carl, anna, bert] })).body
    const first = await make.call('GET', `/v4/segments/${id}/users?limit=2`)
    expect(first.body).toMatchObject({ url: `/v4/segments/${id}/users`, has_more: true, next_cursor: bert })
    const second = await make.call('GET', `/v4/segments/${id}/users?limit=2&starting_after=${bert}`)
    expect(second.body.data).toEqual([{ object: 'segment_user', id: carl }])
    const lost = await make.call('GET', `/v4/segments/${id}/users?limit=1&starting_after=nobody`)
    expect([lost.headers.get('x-qon-pagination-restarted'), lost.body.data[0].id]).toEqual(['true', anna])
    expect((await make.call('GET', '/v4/segments/never_paid/users')).body.data).toEqual([])
    expect((await make.call('GET', '/v4/segments/seg_none/users')).status).toBe(404)
  })

  test('says which ids name no user of the environment, and stores nothing', async () => {
    const other = await growth(api, api.project.sandbox).user()
    const { id } = (await create({ user_ids: [anna] })).body
    for (const answer of [await create({ user_ids: [anna, 'nobody', other] }), await put(id, { user_ids: [anna, 'nobody', other] })]) {
      expect([answer.status, answer.body.error.code]).toEqual([400, 'invalid_data'])
      expect(answer.body.error.message).toBe('user_ids: 2 of 3 ids name no user')
      expect(answer.body.error.details.map(({ field }: { field: string }) => field)).toEqual(['user_ids[1]', 'user_ids[2]'])
    }
    expect(await usersOn(id)).toEqual([anna])
    expect((await preview({ user_ids: [anna, 'nobody', other] })).body).toMatchObject({
      size: 1,
      unknown_user_ids: ['nobody', other].sort(),
    })
    const tooMany = await create({ user_ids: Array.from({ length: 10_001 }, (_, n) => `u${n}`) })
    expect(tooMany.body.error.details[0].field).toBe('user_ids')
  })

  test('chooses who is served a configuration, and who is not', async () => {
    const { id } = (await create({ user_ids: [anna] })).body
    const on = (comparator: string) => [{ metric: 'segment', comparator, value: id }]
    await make.configuration({ for: 'listed' }, { context_key: 'listed', segmentation_conditions: on('eq') })
    await make.configuration({ for: 'others' }, { context_key: 'others', segmentation_conditions: on('ne') })
    const served = async (user: string) =>
      (await make.evaluate(user, { context_keys: ['listed', 'others'] })).map(({ payload }: { payload: { for?: string } }) => payload.for)
    expect(await served(anna)).toEqual(['listed', undefined])
    expect(await served(bert)).toEqual([undefined, 'others'])
  })

  test('loses who is erased, and is then a segment of nobody', async () => {
    const gone = await make.user()
    const { id } = (await create({ user_ids: [gone] })).body
    expect((await make.call('DELETE', `/v4/customers/${gone}`)).status).toBe(204)
    expect((await make.call('GET', `/v4/segments/${id}`)).body.listed).toBe(0)
    expect(await sizeOf({ listed_in: id })).toBe(0)
    expect((await make.call('DELETE', `/v4/segments/${id}`)).status).toBe(204)
    expect((await api.pool.query('select 1 from segment_members where segment_id = $1', [id])).rowCount).toBe(0)
  })

  test('is no condition that somebody else may give', async () => {
    const { id } = (await create({ user_ids: [anna] })).body
    const answer = await create({ conditions: [{ metric: 'listed', comparator: 'eq', value: id }] })
    expect(answer.body.error.details[0].field).toBe('conditions[0].metric')
  })
})

describe('a preview', () => {
  test('has the size and the newest people, and saves nothing', async () => {
    const before = (await api.pool.query('select count(*) as n from segments')).rows
    const { status, body } = await preview({ conditions: [gold] })
    expect(status).toBe(200)
    expect(body).toMatchObject({ object: 'segment_preview', size: 1, is_exact: true, unknown_user_ids: [] })
    expect(body.people).toEqual([expect.objectContaining({ object: 'customer', id: anna })])
    expect((await api.pool.query('select count(*) as n from segments')).rows).toEqual(before)
    expect((await preview({})).body.people.length).toBeLessThanOrEqual(20)
  })

  test('refuses what a segment refuses', async () => {
    const wrong = { conditions: [gold, { metric: 'segment', comparator: 'eq', value: 'never_paid' }] }
    expect((await preview(wrong)).body.error.details).toEqual((await create(wrong)).body.error.details)
    expect((await preview({ listed_in: 'seg_none' })).status).toBe(404)
  })

  test('needs the scope that reads segments, and shows people to whom may read them', async () => {
    const keyOf = async (...scopes: string[]) =>
      (await make.call('POST', '/v4/api-keys', { name: 'K', scopes, environment: 'production' })).body.key as string
    const { body } = await preview({ conditions: [gold] }, await keyOf('segments:read'))
    expect(body).toMatchObject({ size: 1, people: null })
    expect((await preview({ conditions: [gold] }, await keyOf('segments:read', 'customers:read'))).body.people).toHaveLength(1)
    expect((await preview({}, await keyOf('customers:read'))).status).toBe(403)
  })
})

test('what names a segment is told with the segment, and prevents its deletion where that says so', async () => {
  const { id } = (await create({})).body
  const naming = [{ metric: 'segment', comparator: 'eq', value: id }]
  const draft = await make.configuration({}, { segmentation_conditions: naming, name: 'Later' }, 'draft')
  const { id: experiment } = await make.experiment({ segmentation_conditions: naming, name: 'Prices' })
  const view = { name: 'Ours', kind: 'chart', code: 'sales', query: { 'filter[segment_id][]': [id] }, range: 'last_7_days' }
  const { id: saved } = (await make.call('POST', '/v4/analytics/views', view)).body
  const branch = { id: 'b', type: 'branch', conditions: naming, then: [{ id: 'x', type: 'exit' }] }
  const automation = (
    await make.call('POST', '/v4/automations', {
      name: 'Ask',
      status: 'active',
      data: { initiators: on('go'), steps: [branch] },
    })
  ).body
  expect(automation.id).toBeDefined()
  const use = (object: string, of: string, more: object) => ({
    ...{ object, id: of, name: null, status: null, parts: [], prevents_deletion: false },
    ...more,
  })
  const usedBy = async () => (await make.call('GET', `/v4/segments/${id}`)).body.used_by
  expect(await usedBy()).toEqual([
    use('remote_configuration', draft, { name: 'Later', status: 'draft' }),
    use('experiment', experiment, { name: 'Prices', status: 'draft' }),
    use('automation', automation.id, { name: 'Ask', status: 'active', parts: [{ id: 'b', name: null }] }),
    use('analytics_view', saved, { name: 'Ours' }),
  ])
  await make.call('PATCH', `/v4/remote-configurations/${draft}/status`, { status: 'active' })
  expect((await usedBy())[0]).toMatchObject({ id: draft, status: 'active', prevents_deletion: true })
  expect((await make.call('DELETE', `/v4/segments/${id}`)).body.error.message).toBe(
    `the segment is in use by the remote configuration ${draft} (Later)`,
  )
  const data = { initiators: on('go'), segments: id, steps: [{ id: 'x', type: 'exit' }] }
  const { id: going } = (await make.call('POST', '/v4/automations', { name: 'Go', status: 'active', data })).body
  for (const [status, prevents_deletion] of [
    ['active', true],
    ['inactive', false],
  ] as const) {
    await make.call('PATCH', `/v4/automations/${going}/status`, { status })
    expect(await usedBy()).toContainEqual(use('automation', going, { name: 'Go', status, prevents_deletion }))
    expect((await make.call('DELETE', `/v4/segments/${id}`)).body.error.message.includes(going)).toBe(prevents_deletion)
  }
  const key = (
    await make.call('POST', '/v4/api-keys', { name: 'K', scopes: ['segments:read', 'experiments:read'], environment: 'production' })
  ).body.key
  const seen = (await api.call('GET', `/v4/segments/${id}`, { key })).body.used_by
  expect(seen.map(({ name }: { name: string | null }) => name)).toEqual([null, 'Prices', null, null, null])
  await make.call('PATCH', `/v4/remote-configurations/${draft}/status`, { status: 'archived' })
  expect((await make.call('DELETE', `/v4/segments/${id}`)).status).toBe(204)
})
