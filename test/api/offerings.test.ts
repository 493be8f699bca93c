import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { entriesOf, withoutUses } from '../harness/catalogue.ts'
import type { Client } from '../harness/client.ts'

let api: TestApi
let project: TestProjectKeys
let call: Client
beforeAll(async () => {
  api = await startApi()
  project = api.project
  call = api.call
  for (const id of ['a', 'b', 'c']) await call('POST', '/v4/products', { body: { id, type: 'lifetime' } })
})
afterAll(() => api.stop())

const create = (body: Record<string, unknown>, key = project.secret) => call('POST', '/v4/offerings', { body, key })
const update = (id: string, body: unknown) => call('PATCH', `/v4/offerings/${id}`, { body })
const setMain = (id: string, headers = {}) => call('POST', `/v4/offerings/${id}/set-main`, { headers })
const get = async (id: string) => (await call('GET', `/v4/offerings/${id}`)).body
const refusal = ({ status, body }: { status: number; body: { error: { code: string } } }) => [status, body.error.code]

describe('creation', () => {
  test('the first of an environment becomes the main one, the next ones keep the tag they were given', async () => {
    const first = await create({ id: 'first', product_ids: ['b', 'a'] })
    expect([first.status, first.headers.get('location')]).toEqual([201, '/v4/offerings/first'])
    expect(withoutUses(first.body)).toEqual({
      object: 'offering',
      id: 'first',
      url: '/v4/offerings/first',
      tag: 1,
      product_ids: ['b', 'a'],
      created_at: expect.any(String),
      updated_at: first.body.created_at,
    })
    expect(await get('first')).toEqual(first.body)
    expect(await entriesOf(api, 'offering', 'first')).toEqual([
      { operation: 'v4CreateOffering', before: null, after: withoutUses(first.body) },
    ])
    expect((await create({ id: 'second' })).body).toMatchObject({ tag: null, product_ids: [] })
    expect((await create({ id: 'third', tag: 0 })).body.tag).toBe(0)
    expect((await create({ id: 'first', tag: 0 }, project.sandbox)).body.tag).toBe(1)
  })

  test('an id with colon and space is percent-encoded in addresses', async () => {
    const made = await create({ id: 'spring: sale' })
    expect([made.body.url, made.headers.get('location')]).toEqual(['/v4/offerings/spring%3A%20sale', '/v4/offerings/spring%3A%20sale'])
    expect((await call('GET', made.body.url)).body).toEqual(made.body)
  })

  test('refusals', async () => {
    const of = async (body: Record<string, unknown>) => {
      const answer = await create({ id: 'refused', ...body })
      return [...refusal(answer), answer.body.error.details?.map(({ field }: { field: string }) => field)]
    }
    expect(await of({ tag: 1 })).toEqual([400, 'cannot_set_main_directly', undefined])
    expect(await of({ tag: 2 })).toEqual([400, 'invalid_data', ['tag']])
    expect(await of({ tag: -40_000 })).toEqual([400, 'invalid_data', ['tag']])
    expect(await of({ tag: '1' })).toEqual([400, 'invalid_data', ['tag']])
    expect(await of({ product_ids: ['a', '!'] })).toEqual([400, 'invalid_product_id', ['product_ids[1]']])
    expect(await of({ product_ids: ['a', 'x y:z'] })).toEqual([400, 'product_not_in_project', ['product_ids[1]']])
    expect(await of({ product_ids: ['a', 'b', 'a'] })).toEqual([400, 'invalid_data', ['product_ids[2]']])
    expect(await of({ product_ids: Array.from({ length: 101 }, (_, i) => `p${i}`) })).toEqual([400, 'invalid_data', ['product_ids']])
    expect(await of({ product_ids: null })).toEqual([400, 'invalid_data', ['product_ids']])
    expect(await of({ id: 'first' })).toEqual([409, 'offering_already_exists', undefined])
    for (const id of ['.', '..', 'a/b', 'a'.repeat(65)]) expect((await of({ id }))[2]).toEqual(['id'])
    expect((await call('GET', '/v4/offerings/refused')).status).toBe(404)
    expect(refusal(await call('GET', `/v4/offerings/${'a'.repeat(65)}`))).toEqual([400, 'invalid_data'])
  })

  test('the other environment and other projects cannot read it', async () => {
    const other = await api.newProject()
    for (const key of [project.sandbox, other.secret]) {
      for (const [method, path] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/set-main'],
      ])
        expect((await call(method!, `/v4/offerings/second${path}`, { key, ...(method !== 'GET' && { body: {} }) })).status).toBe(404)
    }
    expect((await get('second')).id).toBe('second')
  })
})

describe('update', () => {
  test('a list replaces the list in order; [] clears it; without a list it stays', async () => {
    await create({ id: 'u1', product_ids: ['a', 'b', 'c'] })
    expect((await update('u1', { product_ids: ['c', 'a'] })).body.product_ids).toEqual(['c', 'a'])
    for (const body of [{}, { tag: 0 }, { tag: null }, { product_ids: ['c', 'a'] }])
      expect((await update('u1', body)).body).toMatchObject({ tag: null, product_ids: ['c', 'a'] })
    expect((await update('u1', { product_ids: [] })).body.product_ids).toEqual([])
    expect((await entriesOf(api, 'offering', 'u1')).map(entry => entry.after?.product_ids)).toEqual([['a', 'b', 'c'], ['c', 'a'], []])
  })

  test('the tag is validated before the list', async () => {
    await create({ id: 'u2', tag: 0 })
    const wrong = { product_ids: ['nope'] }
    expect(refusal(await update('first', { tag: 1, ...wrong }))).toEqual([400, 'cannot_set_main_directly'])
    expect(refusal(await update('u2', { tag: 1 }))).toEqual([400, 'cannot_set_main_directly'])
    for (const tag of [0, null, 2, 100_000]) expect(refusal(await update('first', { tag, ...wrong }))).toEqual([422, 'cannot_demote_main'])
    expect(refusal(await update('u2', { tag: 2 }))).toEqual([400, 'invalid_data'])
    expect(refusal(await update('u2', { tag: 0, ...wrong }))).toEqual([400, 'product_not_in_project'])
    expect(refusal(await update('u2', { product_ids: ['ä'] }))).toEqual([400, 'invalid_product_id'])
    expect(refusal(await update('u2', { product_ids: null }))).toEqual([400, 'invalid_data'])
    expect(refusal(await update('nobody', { tag: 1 }))).toEqual([404, 'not_found'])
    expect((await get('first')).tag).toBe(1)
  })
})

describe('the main offering', () => {
  test('set-main moves the tag, and changes nothing when it is already there', async () => {
    const moved = await setMain('second')
    expect([moved.status, moved.body.tag, (await get('first')).tag]).toEqual([200, 1, 0])
    expect((await entriesOf(api, 'offering', 'second')).at(-1)).toMatchObject({
      operation: 'v4SetMainOffering',
      before: { tag: null },
      after: { tag: 1 },
    })
    const again = await setMain('second')
    expect([again.status, again.body]).toEqual([200, moved.body])
    expect(await entriesOf(api, 'offering', 'second')).toHaveLength(2)
    expect((await setMain('nobody')).status).toBe(404)
    expect((await get('second')).tag).toBe(1)
  })

  test('a repeat with the same Idempotency-Key does not move the tag back', async () => {
    const key = { 'Idempotency-Key': 'main-1' }
    await setMain('first', key)
    await setMain('second')
    const replay = await setMain('first', key)
    expect([replay.status, replay.headers.get('idempotency-replayed'), (await get('second')).tag]).toEqual([200, 'true', 1])
  })

  test('the main offering can be deleted only as the last one; then the next one created is the main one', async () => {
    const { secret: key } = await api.newProject()
    const remove = (id: string) => call('DELETE', `/v4/offerings/${id}`, { key })
    await create({ id: 'x' }, key)
    await create({ id: 'y' }, key)
    expect(refusal(await remove('x'))).toEqual([422, 'cannot_delete_main'])
    expect([(await remove('y')).status, (await remove('x')).status, (await remove('x')).status]).toEqual([204, 204, 404])
    expect((await create({ id: 'y' }, key)).body.tag).toBe(1)
  })

  test('products remain when their offering is deleted', async () => {
    await create({ id: 'going', product_ids: ['a', 'b'] })
    const before = withoutUses(await get('going'))
    expect((await call('DELETE', '/v4/offerings/going')).status).toBe(204)
    expect((await call('GET', '/v4/products/a')).status).toBe(200)
    expect((await entriesOf(api, 'offering', 'going')).at(-1)).toEqual({ operation: 'v4DeleteOffering', before, after: null })
  })
})

test('the list is oldest first, ties by id ascending, and continues after its cursor', async () => {
  const { secret: key, production } = await api.newProject()
  for (const id of ['l 4', 'l:3', 'l2', 'l1']) await create({ id }, key)
  await api.pool.query(`update offerings set created_at = '2026-03-01T00:00:00Z' where environment = $1 and id <> 'l1'`, [production])
  const page = async (query: string) => (await call('GET', `/v4/offerings${query}`, { key })).body
  expect(await page('?limit=2')).toMatchObject({
    url: '/v4/offerings',
    data: [{ id: 'l 4' }, { id: 'l2' }],
    has_more: true,
    next_cursor: 'l2',
  })
  expect((await page('?limit=1&starting_after=l2')).next_cursor).toBe('l:3')
  expect((await page('?starting_after=l%3A3')).data).toMatchObject([{ id: 'l1' }])
  expect((await page('?starting_after=l%204')).data).toHaveLength(3)
  const lost = await call('GET', '/v4/offerings?starting_after=gone', { key })
  expect([lost.body.data.length, lost.headers.get('x-qon-pagination-restarted')]).toEqual([4, 'true'])
  for (const cursor of ['a'.repeat(65), 'a/b', ''])
    expect((await call('GET', `/v4/offerings?starting_after=${cursor}`, { key })).body.error.details[0].field).toBe('starting_after')
})
