import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { age, entriesOf, tally, withoutUses } from '../harness/catalogue.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  for (const id of ['a', 'b', 'c']) await api.call('POST', '/v4/products', { body: { id, type: 'lifetime' } })
})
afterAll(() => api.stop())

const create = (body: Record<string, unknown>, key?: string) => api.call('POST', '/v4/entitlements', { body, ...(key && { key }) })
const update = (id: string, body: unknown) => api.call('PATCH', `/v4/entitlements/${id}`, { body })

describe('creation', () => {
  test('a definition shows its products in the given order', async () => {
    const made = await create({ id: 'premium', description: 'All of it', product_ids: ['c', 'a', 'b'] })
    expect([made.status, made.headers.get('location')]).toEqual([201, '/v4/entitlements/premium'])
    expect(withoutUses(made.body)).toEqual({
      object: 'entitlement',
      id: 'premium',
      url: '/v4/entitlements/premium',
      description: 'All of it',
      product_ids: ['c', 'a', 'b'],
      created_at: expect.any(String),
      updated_at: made.body.created_at,
    })
    expect((await api.call('GET', '/v4/entitlements/premium')).body).toEqual(made.body)
    expect(await entriesOf(api, 'entitlement', 'premium')).toEqual([
      { operation: 'v4CreateEntitlement', before: null, after: withoutUses(made.body) },
    ])
  })

  test('without list, with null and with [] a definition has no products', async () => {
    for (const [id, rest] of Object.entries({ bare: {}, nothing: { product_ids: null, description: null }, empty: { product_ids: [] } }))
      expect((await create({ id, ...rest })).body).toMatchObject({ description: null, product_ids: [] })
  })

  test('malformed ids of products are reported first, then unknown ones, each with its index', async () => {
    const list = async (product_ids: unknown) => {
      const { status, body } = await create({ id: 'refused', product_ids })
      return [status, body.error.code, body.error.details.map(({ field }: { field: string }) => field)]
    }
    expect(await list(['a', '', 'x', 'ü', 'y'.repeat(256)])).toEqual([
      400,
      'invalid_product_id',
      ['product_ids[1]', 'product_ids[3]', 'product_ids[4]'],
    ])
    expect(await list(['x', 'a', 'of: another kind', '..'])).toEqual([
      400,
      'product_not_in_project',
      ['product_ids[0]', 'product_ids[2]', 'product_ids[3]'],
    ])
    expect(await list(['a', 'a'])).toEqual([400, 'invalid_data', ['product_ids[1]']])
    expect(await list(Array.from({ length: 501 }, (_, i) => `p${i}`))).toEqual([400, 'invalid_data', ['product_ids']])
    expect(await list(['a', 7])).toEqual([400, 'invalid_data', ['product_ids[1]']])
    expect((await api.call('GET', '/v4/entitlements/refused')).status).toBe(404)
  })

  test('products of the other environment are unknown', async () => {
    const answer = await create({ id: 'premium', product_ids: ['a'] }, api.project.sandbox)
    expect(answer.body.error.code).toBe('product_not_in_project')
    expect((await create({ id: 'premium' }, api.project.sandbox)).status).toBe(201)
    const other = await api.newProject()
    expect((await api.call('GET', '/v4/entitlements/premium', { key: other.secret })).status).toBe(404)
    expect((await api.call('GET', '/v4/entitlements', { key: other.secret })).body.data).toEqual([])
  })

  test('of 50 concurrent creations of one id one is 201, with its complete list', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => create({ id: 'wanted', product_ids: i % 2 ? ['a', 'b'] : ['b', 'c'] })),
    )
    expect(tally(answers)).toEqual({ 201: 1, 409: 49 })
    const won = answers.find(({ status }) => status === 201)!
    expect((await api.call('GET', '/v4/entitlements/wanted')).body).toEqual(won.body)
    expect(answers.find(({ status }) => status === 409)!.body.error.code).toBe('already_exists')
  })

  test('a repeat with the same Idempotency-Key gives the first response, even a refusal', async () => {
    const send = (id: string, product_ids: string[]) =>
      api.call('POST', '/v4/entitlements', { body: { id, product_ids }, headers: { 'Idempotency-Key': id } })
    const made = await send('once', ['a'])
    expect((await send('once', ['a'])).body).toEqual(made.body)
    expect((await send('later', ['d'])).status).toBe(400)
    await api.call('POST', '/v4/products', { body: { id: 'd', type: 'lifetime' } })
    expect((await send('later', ['d'])).body.error.code).toBe('product_not_in_project')
  })
})

describe('update', () => {
  test('a list replaces the list, null empties it, and the description changes independently', async () => {
    await create({ id: 'u1', description: 'x', product_ids: ['a', 'b'] })
    expect((await update('u1', { product_ids: ['c', 'b'] })).body).toMatchObject({ description: 'x', product_ids: ['c', 'b'] })
    expect((await update('u1', { description: null })).body).toMatchObject({ description: null, product_ids: ['c', 'b'] })
    expect((await update('u1', { product_ids: null })).body.product_ids).toEqual([])
    expect((await api.call('GET', '/v4/entitlements/u1')).body.product_ids).toEqual([])
    expect((await entriesOf(api, 'entitlement', 'u1')).map(entry => entry.after?.product_ids)).toEqual([
      ['a', 'b'],
      ['c', 'b'],
      ['c', 'b'],
      [],
    ])
  })

  test('an unchanged list leaves no trace; another order is a change', async () => {
    await create({ id: 'u2', description: 'x', product_ids: ['a', 'b'] })
    await age(api, 'entitlements', 'u2')
    for (const body of [{}, { description: 'x', product_ids: ['a', 'b'] }]) {
      const answer = await update('u2', body)
      expect([answer.status, answer.body.updated_at]).toEqual([200, answer.body.created_at])
    }
    expect(await entriesOf(api, 'entitlement', 'u2')).toHaveLength(1)
    const turned = await update('u2', { product_ids: ['b', 'a'] })
    expect(turned.body.updated_at > turned.body.created_at).toBe(true)
  })

  test('refusals change nothing; an unknown definition is 404 with any list', async () => {
    await create({ id: 'u3', product_ids: ['a'] })
    expect((await update('u3', { description: 'new', product_ids: ['nope'] })).body.error.code).toBe('product_not_in_project')
    expect((await update('u3', { product_ids: ['a', 'a'] })).body.error.code).toBe('invalid_data')
    expect((await update('u3', { description: 'x'.repeat(1025) })).body.error.details[0].field).toBe('description')
    expect((await api.call('GET', '/v4/entitlements/u3')).body).toMatchObject({ description: null, product_ids: ['a'] })
    expect((await update('nobody', { product_ids: ['nope'] })).body.error.code).toBe('not_found')
    expect((await update('nobody', {})).status).toBe(404)
  })

  test('of 50 concurrent lists one is stored completely', async () => {
    await create({ id: 'u4' })
    const lists = [['a', 'b', 'c'], ['c', 'b'], ['b'], []]
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => update('u4', { product_ids: lists[i % 4] })))
    expect(tally(answers)).toEqual({ 200: 50 })
    expect(lists).toContainEqual((await api.call('GET', '/v4/entitlements/u4')).body.product_ids)
  })
})

test('the list is newest first, ties by id descending, and continues after its cursor', async () => {
  const { secret: key, production } = await api.newProject()
  for (const id of ['l1', 'l2', 'l3', 'l4']) await create({ id }, key)
  await api.pool.query(`update entitlements set created_at = '2026-03-01T00:00:00Z' where environment = $1 and id <> 'l1'`, [production])
  const page = async (query: string) => (await api.call('GET', `/v4/entitlements${query}`, { key })).body
  expect(await page('?limit=3')).toMatchObject({
    url: '/v4/entitlements',
    data: [{ id: 'l1' }, { id: 'l4' }, { id: 'l3' }],
    has_more: true,
    next_cursor: 'l3',
  })
  expect((await page('?starting_after=l3')).data).toMatchObject([{ id: 'l2' }])
  const lost = await api.call('GET', '/v4/entitlements?starting_after=gone', { key })
  expect([lost.body.data.length, lost.headers.get('x-qon-pagination-restarted')]).toEqual([4, 'true'])
})
