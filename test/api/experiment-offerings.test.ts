import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { growth } from '../harness/experiments.ts'

let api: TestApi
let make: ReturnType<typeof growth>
beforeAll(async () => {
  api = await startApi()
  make = growth(api)
  for (const id of ['week', 'month', 'year']) await make.call('POST', '/v4/products', { id, type: 'subscription', duration: 'P1M' })
})
afterAll(() => api.stop())

const offering = async (id: string, product_ids: string[]) => {
  const made = await make.call('POST', '/v4/offerings', { id, product_ids })
  expect(made.status, made.text).toBe(201)
}

describe('the offering of a group', () => {
  test('is a copy: later edits of the source do not change it, and no other operation returns it', async () => {
    await offering('first', ['year', 'month'])
    const { id } = await make.experiment()
    const group = await make.group(id, { offering_uid: 'first' })
    expect(group).toMatchObject({ offering_uid: `exp-${group.id}`, offering_tag: 1 })
    await make.call('PATCH', '/v4/offerings/first', { product_ids: ['week'] })
    const { rows } = await api.pool.query('select product_id from offering_products where offering_id = $1 order by position', [
      group.offering_uid,
    ])
    expect(rows.map(row => row.product_id)).toEqual(['year', 'month'])
    expect((await make.call('GET', `/v4/offerings/${group.offering_uid}`)).status).toBe(404)
    const variant = await make.call('PATCH', `/v4/offerings/${group.offering_uid}`, { product_ids: [] })
    expect(variant.body.error.code).toBe('cannot_patch_experiment_variant')
  })

  test('is replaced by another one, kept by its own id, and deleted with null, the group or the experiment', async () => {
    await offering('a', ['week'])
    await offering('b', ['month'])
    const { id } = await make.experiment()
    const group = await make.group(id, { offering_uid: 'a' })
    const products = async () =>
      (await api.pool.query('select product_id from offering_products where offering_id = $1', [group.offering_uid])).rows.map(
        r => r.product_id,
      )
    expect((await make.call('PATCH', group.url, { offering_uid: group.offering_uid })).body).toEqual(group)
    expect((await make.call('PATCH', group.url, { offering_uid: 'b' })).body.offering_uid).toBe(group.offering_uid)
    expect(await products()).toEqual(['month'])
    expect((await make.call('PATCH', group.url, { offering_uid: 'unknown' })).status).toBe(404)
    expect(await products()).toEqual(['month'])
    expect((await make.call('PATCH', group.url, { offering_uid: null })).body).toMatchObject({ offering_uid: null, offering_tag: null })
    expect(await products()).toEqual([])
    const others = [await make.group(id, { offering_uid: 'a' }), await make.group(id, { offering_uid: 'a' })]
    await make.call('DELETE', others[0].url)
    await make.call('DELETE', `/v4/experiments/${id}`)
    const left = await api.pool.query('select id from offerings where variant_of is not null and id = any($1)', [
      others.map(other => other.offering_uid),
    ])
    expect(left.rows).toEqual([])
  })

  test('cannot be a copy of another variant', async () => {
    await offering('c', ['week'])
    const { id } = await make.experiment()
    const group = await make.group(id, { offering_uid: 'c' })
    expect((await make.call('POST', `/v4/experiments/${id}/groups`, { weight: 1, offering_uid: group.offering_uid })).status).toBe(404)
  })

  test('is returned to the apps of its users', async () => {
    await offering('d', ['year', 'week'])
    const { id, groups } = await make.running({ context_key: 'told' }, [{ weight: 0 }, { name: 'Yearly', offering_uid: 'd' }])
    const [item] = await make.evaluate(await make.user(), { context_keys: ['told'] })
    expect(item).toMatchObject({
      payload: {},
      source: null,
      experiment: {
        uid: id,
        group: { uid: groups[1], name: 'Yearly', type: 'treatment', offering: { uid: `exp-${groups[1]}`, product_ids: ['year', 'week'] } },
      },
    })
  })
})
