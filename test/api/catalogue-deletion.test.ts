import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyAsVariant } from '../../domain/catalogue/offerings/variant.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { age, entriesOf, recordGroup, recordPurchase, tally, whileOthersWait, withoutUses } from '../harness/catalogue.ts'

// Deleting products and entitlements: what prevents it, and what is deleted with them.
let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const post = (resource: string, body: Record<string, unknown>) => api.call('POST', `/v4/${resource}`, { body })
const remove = (resource: string, id: string) => api.call('DELETE', `/v4/${resource}/${id}`)
const get = async (resource: string, id: string) => (await api.call('GET', `/v4/${resource}/${id}`)).body
const isRefused = async (resource: string, id: string) => {
  const { status, body } = await remove(resource, id)
  if (status === 409) expect(body.error).toMatchObject({ type: 'resource', code: 'conflict' })
  else expect(status).toBe(204)
  return status === 409
}

/** Creates a product with links and an entitlement that lists it, both with this id. */
const sell = async (id: string, links: Record<string, unknown> = { apple_product_id: `store.${id}` }) => {
  await post('products', { id, type: 'lifetime', ...links })
  await post('entitlements', { id, product_ids: [id] })
}

/** Grants an entitlement to a new user; `hours` from now until its end, null: without end. */
async function grant(id: string, hours: number | null): Promise<string> {
  const user = (await post('users', { environment: 'prod' })).body.id
  await api.pool.query(
    `insert into grants (environment, user_id, entitlement_id, starts_at, expires_at)
     values ($1, $2, $3, now() - interval '1 day', now() + make_interval(hours => $4))`,
    [api.project.production, user, id, hours],
  )
  return user
}

describe('a product', () => {
  test('is removed from every list with its deletion; the other products keep their order, and the lists have changed', async () => {
    for (const id of ['p1', 'p2', 'p3']) await post('products', { id, type: 'lifetime' })
    const product_ids = ['p3', 'p1', 'p2']
    for (const resource of ['entitlements', 'offerings'] as const) {
      await post(resource, { id: 'holder', product_ids })
      await post(resource, { id: 'bystander', product_ids: ['p2'] })
      for (const id of ['holder', 'bystander']) await age(api, resource, id)
    }
    const before = withoutUses(await get('products', 'p1'))
    const gone = await remove('products', 'p1')
    expect([gone.status, gone.text, gone.headers.get('content-type')]).toEqual([204, '', null])
    expect((await remove('products', 'p1')).status).toBe(404)
    for (const resource of ['entitlements', 'offerings']) {
      const [holder, bystander] = [await get(resource, 'holder'), await get(resource, 'bystander')]
      expect([holder.product_ids, bystander.product_ids]).toEqual([['p3', 'p2'], ['p2']])
      expect([holder.updated_at > holder.created_at, bystander.updated_at]).toEqual([true, bystander.created_at])
    }
    expect((await entriesOf(api, 'product', 'p1')).at(-1)).toEqual({ operation: 'v4DeleteProduct', before, after: null })
    expect((await post('products', { id: 'p1', type: 'consumable' })).status).toBe(201)
    expect((await get('entitlements', 'holder')).product_ids).toEqual(['p3', 'p2'])
  })

  test('cannot be deleted while a purchase of it gives access', async () => {
    await sell('s1')
    await recordPurchase(api, { product: 'store.s1' })
    expect(await isRefused('products', 's1')).toBe(true)
    expect((await get('entitlements', 's1')).product_ids).toEqual(['s1'])
    await api.pool.query(`update purchases set access_until = now() where store_product_id = 'store.s1'`)
    expect(await isRefused('products', 's1')).toBe(false)
  })

  test.each<[string, boolean, Partial<Parameters<typeof recordPurchase>[1]>]>([
    ['is over', false, { from: -2, until: -1 }],
    ['has not begun', false, { from: 1, until: 2 }],
    ['has no user', false, { user: null }],
    ['is shared with a user', true, { user: null, sharedWith: 'QON_friend' }],
    ['is of another store', false, { platform: 'stripe' }],
  ])('a purchase that %s: refused %s', async (name, refused, purchase) => {
    const id = name.replaceAll(' ', '-')
    await sell(id)
    await recordPurchase(api, { product: `store.${id}`, ...purchase })
    expect(await isRefused('products', id)).toBe(refused)
  })

  test('that no entitlement lists gives no access, so it can be deleted', async () => {
    await post('products', { id: 'loose', type: 'lifetime', stripe_product_id: 'loose' })
    await recordPurchase(api, { product: 'loose', platform: 'stripe' })
    expect(await isRefused('products', 'loose')).toBe(false)
  })

  test('a purchase counts for the product that links it, not for another with the same link', async () => {
    await sell('monthly', { google_product_id: 'pro', google_base_plan_id: 'm' })
    await sell('any', { google_product_id: 'pro' })
    await recordPurchase(api, { product: 'pro', platform: 'play_store', basePlan: 'm' })
    expect(await isRefused('products', 'any')).toBe(false)
    expect(await isRefused('products', 'monthly')).toBe(true)
  })

  test.each([
    ['active', true],
    ['paused', true],
    ['draft', false],
    ['finished', false],
  ])('in the offering of a group of an experiment that is %s: refused %s', async (status, refused) => {
    const id = `tried-${status}`
    await post('products', { id, type: 'lifetime' })
    await post('offerings', { id, product_ids: [id] })
    await recordGroup(api, `group-${status}`, status)
    await transaction(api.pool, tx => copyAsVariant(tx, api.project.production, id, `group-${status}`))
    expect(await isRefused('products', id)).toBe(refused)
  })

  test('an update of a list that waits for the deletion of its product does not find the product', async () => {
    for (const id of ['going', 'staying']) await post('products', { id, type: 'lifetime' })
    await post('entitlements', { id: 'waiting' })
    await post('offerings', { id: 'waiting' })
    const body = { product_ids: ['staying', 'going'] }
    const answers = await whileOthersWait(api, `delete from products where id = 'going'`, 4, () =>
      Promise.all([
        api.call('PATCH', '/v4/entitlements/waiting', { body }),
        api.call('PATCH', '/v4/offerings/waiting', { body }),
        post('entitlements', { id: 'new', ...body }),
        post('offerings', { id: 'new', ...body }),
      ]),
    )
    for (const answer of answers)
      expect(answer.body.error).toMatchObject({ code: 'product_not_in_project', details: [{ field: 'product_ids[1]' }] })
    for (const resource of ['entitlements', 'offerings']) expect((await get(resource, 'waiting')).product_ids).toEqual([])
  })

  test('50 concurrent writes of lists and deletions of their products end without deadlock or dangling id', async () => {
    const ids = Array.from({ length: 10 }, (_, i) => `race-${i}`)
    for (const id of ids) await post('products', { id, type: 'lifetime' })
    for (const resource of ['entitlements', 'offerings']) for (const id of ['r1', 'r2']) await post(resource, { id, product_ids: ids })
    const write = (i: number) =>
      api.call('PATCH', `/v4/${i % 2 ? 'entitlements' : 'offerings'}/${i % 4 < 2 ? 'r1' : 'r2'}`, {
        body: { product_ids: i % 3 ? [...ids].reverse() : ids.slice(i % 10) },
      })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 5 === 4 ? remove('products', ids[(i - 4) / 5]!) : write(i))),
    )
    const { 200: written = 0, 204: removed = 0, 400: refused = 0, ...others } = tally(answers)
    expect(others).toEqual({})
    expect([removed, written + refused]).toEqual([10, 40])
    for (const { body } of answers.filter(({ status }) => status === 400)) expect(body.error.code).toBe('product_not_in_project')
    for (const resource of ['entitlements', 'offerings'])
      for (const id of ['r1', 'r2']) expect((await get(resource, id)).product_ids).toEqual([])
  })
})

describe('an entitlement', () => {
  test('cannot be deleted while a grant is active; expired grants are deleted with it', async () => {
    for (const [id, hours] of [
      ['forever', null],
      ['for-now', 1],
    ] as const) {
      await post('entitlements', { id })
      await grant(id, -1)
      await grant(id, hours)
      expect(await isRefused('entitlements', id)).toBe(true)
      expect((await api.pool.query('select 1 from grants where entitlement_id = $1', [id])).rowCount).toBe(2)
      await api.pool.query(`update grants set expires_at = now() where entitlement_id = $1`, [id])
      const before = withoutUses(await get('entitlements', id))
      expect(await isRefused('entitlements', id)).toBe(false)
      expect((await api.pool.query('select 1 from grants where entitlement_id = $1', [id])).rowCount).toBe(0)
      expect((await entriesOf(api, 'entitlement', id)).at(-1)).toEqual({ operation: 'v4DeleteEntitlement', before, after: null })
      expect((await remove('entitlements', id)).status).toBe(404)
    }
  })

  test('cannot be deleted while a user has it by a purchase', async () => {
    await sell('bought')
    await recordPurchase(api, { product: 'store.bought' })
    expect(await isRefused('entitlements', 'bought')).toBe(true)
    await api.call('PATCH', '/v4/entitlements/bought', { body: { product_ids: [] } })
    expect(await isRefused('entitlements', 'bought')).toBe(false)
    expect((await get('products', 'bought')).id).toBe('bought')
  })

  test('an expired grant that is renewed concurrently is not lost', async () => {
    await post('entitlements', { id: 'renewed' })
    const user = await grant('renewed', -1)
    const renew = `update grants set expires_at = null where user_id = '${user}'`
    expect(await whileOthersWait(api, renew, 1, () => isRefused('entitlements', 'renewed'))).toBe(true)
    expect((await api.pool.query('select 1 from grants where user_id = $1', [user])).rowCount).toBe(1)
  })

  test('of 50 concurrent deletions one is 204, the others 404', async () => {
    await post('entitlements', { id: 'doomed' })
    expect(tally(await Promise.all(Array.from({ length: 50 }, () => remove('entitlements', 'doomed'))))).toEqual({ 204: 1, 404: 49 })
    expect(await entriesOf(api, 'entitlement', 'doomed')).toHaveLength(2)
  })
})
