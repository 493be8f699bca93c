import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { age, entriesOf, tally, withoutUses } from '../harness/catalogue.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const create = (body: Record<string, unknown>, key?: string) => api.call('POST', '/v4/products', { body, ...(key && { key }) })
const lifetime = async (id: string): Promise<string> => (await create({ id, type: 'lifetime' })).body.id
// A field may have several faults.
const fieldsOf = (answer: { body: { error: { details: { field: string }[] } } }) => [
  ...new Set(answer.body.error.details.map(({ field }) => field)),
]

describe('creation', () => {
  test('a product has the given values, and null for the rest', async () => {
    const made = await create({
      id: 'pro.monthly',
      type: 'subscription',
      duration: 'P1M',
      google_product_id: 'pro',
      google_base_plan_id: 'm',
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe('/v4/products/pro.monthly')
    expect(withoutUses(made.body)).toEqual({
      object: 'product',
      id: 'pro.monthly',
      url: '/v4/products/pro.monthly',
      type: 'subscription',
      duration: 'P1M',
      apple_product_id: null,
      google_product_id: 'pro',
      google_base_plan_id: 'm',
      stripe_product_id: null,
      paddle_product_id: null,
      created_at: expect.any(String),
      updated_at: made.body.created_at,
    })
    expect((await api.call('GET', '/v4/products/pro.monthly')).body).toEqual(made.body)
    expect(await entriesOf(api, 'product', 'pro.monthly')).toEqual([
      { operation: 'v4CreateProduct', before: null, after: withoutUses(made.body) },
    ])
  })

  test.each([
    ['a subscription without duration', { type: 'subscription' }, ['duration']],
    ['a subscription with the duration null', { type: 'subscription_with_promo', duration: null }, ['duration']],
    ['a duration in hours', { type: 'subscription', duration: 'PT12H' }, ['duration']],
    ['a duration of nothing', { type: 'subscription', duration: 'P0D' }, ['duration']],
    ['a duration beyond ten years', { type: 'subscription', duration: 'P10Y1D' }, ['duration']],
    ['a duration of a one-time product', { type: 'lifetime', duration: 'P1Y' }, ['duration']],
    ['a base plan without product', { type: 'consumable', google_base_plan_id: 'm' }, ['google_base_plan_id']],
    ['both at once', { type: 'subscription', google_base_plan_id: 'm' }, ['duration', 'google_base_plan_id']],
    ['no type', {}, ['type']],
    ['the type null', { type: null }, ['type']],
    ['an empty store id', { type: 'lifetime', apple_product_id: '' }, ['apple_product_id']],
    ['a field of the answer', { type: 'lifetime', url: '/v4/products/x' }, ['url']],
  ])('%s is refused with its field', async (_, body, fields) => {
    const answer = await create({ id: 'refused', ...body })
    expect([answer.status, answer.body.error.code, fieldsOf(answer)]).toEqual([400, 'invalid_data', fields])
    expect((await api.call('GET', '/v4/products/refused')).status).toBe(404)
  })

  test.each(['.', '..', 'a b', 'a/b', '', 'a'.repeat(256)])('the id %j is refused', async id => {
    expect(fieldsOf(await create({ id, type: 'lifetime' }))).toEqual(['id'])
  })

  test('of 50 concurrent creations of one id one is 201, the others 409', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => create({ id: 'wanted', type: 'lifetime' })))
    expect(tally(answers)).toEqual({ 201: 1, 409: 49 })
    expect(answers.find(({ status }) => status === 409)!.body.error.code).toBe('already_exists')
    expect(await entriesOf(api, 'product', 'wanted')).toHaveLength(1)
  })

  test('a repeat with the same Idempotency-Key gives the first response, even when the product is deleted', async () => {
    const send = () => api.call('POST', '/v4/products', { body: { id: 'once', type: 'lifetime' }, headers: { 'Idempotency-Key': 'p1' } })
    const first = await send()
    await api.call('DELETE', '/v4/products/once')
    const again = await send()
    expect([again.status, again.body, again.headers.get('idempotency-replayed')]).toEqual([201, first.body, 'true'])
    expect((await api.call('GET', '/v4/products/once')).status).toBe(404)
  })

  test('the other environment and other projects cannot read it and can use its id', async () => {
    const id = await lifetime('mine')
    const other = await api.newProject()
    for (const key of [api.project.sandbox, other.secret]) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const answer = await api.call(method, `/v4/products/${id}`, { key, ...(method === 'PATCH' && { body: {} }) })
        expect([method, answer.status, answer.body.error.code]).toEqual([method, 404, 'not_found'])
      }
      expect((await api.call('GET', '/v4/products', { key })).body.data).toEqual([])
      expect((await create({ id, type: 'consumable' }, key)).status).toBe(201)
    }
  })
})

describe('update', () => {
  const update = (id: string, body: unknown) => api.call('PATCH', `/v4/products/${id}`, { body })

  test('given fields change, null clears, the rest stays', async () => {
    const { body: before } = await create({ id: 'u1', type: 'lifetime', apple_product_id: 'a', stripe_product_id: 's' })
    await age(api, 'products', 'u1')
    const changed = await update('u1', { apple_product_id: null, paddle_product_id: 'p' })
    expect(changed.body).toMatchObject({ apple_product_id: null, stripe_product_id: 's', paddle_product_id: 'p', type: 'lifetime' })
    expect(changed.body.updated_at > changed.body.created_at).toBe(true)
    expect((await api.call('GET', before.url)).body).toEqual(changed.body)
    expect((await entriesOf(api, 'product', 'u1'))[1]).toMatchObject({
      operation: 'v4UpdateProduct',
      before: { apple_product_id: 'a' },
      after: { apple_product_id: null },
    })
  })

  test('an unchanged product leaves no trace', async () => {
    await create({ id: 'u2', type: 'lifetime', apple_product_id: 'a' })
    await age(api, 'products', 'u2')
    for (const body of [{}, { apple_product_id: 'a', duration: null, type: 'lifetime' }]) {
      const answer = await update('u2', body)
      expect([answer.status, answer.body.updated_at]).toEqual([200, answer.body.created_at])
    }
    expect(await entriesOf(api, 'product', 'u2')).toHaveLength(1)
  })

  test('the rules hold for the merged product', async () => {
    await create({ id: 'u3', type: 'subscription', duration: 'P1M', google_product_id: 'g', google_base_plan_id: 'b' })
    expect(fieldsOf(await update('u3', { type: 'lifetime' }))).toEqual(['duration'])
    expect(fieldsOf(await update('u3', { duration: null }))).toEqual(['duration'])
    expect(fieldsOf(await update('u3', { google_product_id: null }))).toEqual(['google_base_plan_id'])
    expect(fieldsOf(await update('u3', { type: null }))).toEqual(['type'])
    expect(fieldsOf(await update('u3', { id: 'u4' }))).toEqual(['id'])
    const moved = await update('u3', { type: 'consumable', duration: null, google_base_plan_id: null })
    expect(moved.body).toMatchObject({ type: 'consumable', duration: null, google_product_id: 'g', google_base_plan_id: null })
  })

  test('an imported product without type can be changed', async () => {
    await lifetime('u5')
    await api.pool.query(`update products set type = null, duration = 'P1Y' where id = 'u5'`)
    expect((await update('u5', { stripe_product_id: 's' })).body).toMatchObject({ type: null, duration: 'P1Y', stripe_product_id: 's' })
  })

  test('50 concurrent changes of different fields are all kept', async () => {
    await lifetime('u6')
    const fields = ['apple_product_id', 'google_product_id', 'stripe_product_id', 'paddle_product_id', 'google_base_plan_id']
    await update('u6', { google_product_id: 'g' })
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => update('u6', { [fields[i % 5]!]: `v${i % 5}` })))
    expect(tally(answers)).toEqual({ 200: 50 })
    const { body } = await api.call('GET', '/v4/products/u6')
    expect(fields.map(field => body[field])).toEqual(['v0', 'v1', 'v2', 'v3', 'v4'])
    // One entry for each field: its nine repeats change nothing.
    expect(await entriesOf(api, 'product', 'u6')).toHaveLength(7)
  })
})

describe('list', () => {
  const page = async (query: string, key: string) => api.call('GET', `/v4/products${query}`, { key })

  test('newest first, ties by id descending, page by page, filtered', async () => {
    const { secret: key, production } = await api.newProject()
    for (const [i, type] of ['lifetime', 'consumable', 'lifetime', 'lifetime', 'consumable'].entries())
      await create({ id: `l${i}`, type }, key)
    await api.pool.query(`update products set created_at = '2026-03-01T00:00:00Z' where environment = $1 and id in ('l1', 'l2', 'l3')`, [
      production,
    ])
    await api.pool.query(`update products set created_at = '2026-02-01T00:00:00Z' where environment = $1 and id = 'l4'`, [production])
    const ids = (answer: { body: { data: { id: string }[] } }) => answer.body.data.map(({ id }) => id)
    const first = await page('?limit=2', key)
    expect([ids(first), first.body.has_more, first.body.next_cursor]).toEqual([['l0', 'l3'], true, 'l3'])
    const second = await page('?limit=2&starting_after=l3', key)
    expect([ids(second), second.body.next_cursor]).toEqual([['l2', 'l1'], 'l1'])
    const last = await page('?limit=2&starting_after=l1', key)
    expect(last.body).toMatchObject({ object: 'list', url: '/v4/products', data: [{ id: 'l4' }], has_more: false })
    expect(last.body).not.toHaveProperty('next_cursor')

    expect(ids(await page('?filter[type]=consumable', key))).toEqual(['l1', 'l4'])
    expect(ids(await page('?filter[type]=lifetime&filter[type]=consumable', key))).toHaveLength(5)
    // The cursor's row need not match the filter.
    expect(ids(await page('?filter[type]=lifetime&starting_after=l1', key))).toEqual([])
    expect((await page('?filter[type]=rental', key)).body.error.details[0].field).toBe('filter[type]')

    const lost = await page('?limit=2&starting_after=gone', key)
    expect([ids(lost), lost.headers.get('x-qon-pagination-restarted')]).toEqual([['l0', 'l3'], 'true'])
    expect(first.headers.get('x-qon-pagination-restarted')).toBeNull()
  })
})
