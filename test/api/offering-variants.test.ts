import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyAsVariant, dropVariant } from '../../domain/catalogue/offerings/variant.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'

// The copies of offerings that experiments create for their groups: they exist only for the experiment.
let api: TestApi
beforeAll(async () => {
  api = await startApi()
  for (const id of ['a', 'b', 'c']) await api.call('POST', '/v4/products', { body: { id, type: 'lifetime' } })
})
afterAll(() => api.stop())

const create = (id: string, product_ids: string[] = []) => api.call('POST', '/v4/offerings', { body: { id, product_ids } })
const copy = (source: string, group: string, environment = api.project.production) =>
  transaction(api.pool, tx => copyAsVariant(tx, environment, source, group))
const productsOf = async (id: string) =>
  (
    await api.pool.query('select product_id from offering_products where environment = $1 and offering_id = $2 order by position', [
      api.project.production,
      id,
    ])
  ).rows.map(row => row.product_id)

test('a copy has the products in order and the tag of its source; later edits of the source do not change it', async () => {
  await create('source', ['c', 'a', 'b'])
  await create('other', ['b'])
  expect(await copy('source', 'g1')).toEqual({ id: 'exp-g1', tag: 1 })
  await api.call('PATCH', '/v4/offerings/source', { body: { product_ids: [] } })
  expect(await productsOf('exp-g1')).toEqual(['c', 'a', 'b'])
  expect(await copy('other', 'g1')).toEqual({ id: 'exp-g1', tag: null })
  expect(await productsOf('exp-g1')).toEqual(['b'])
})

test('only a regular offering of the environment can be copied', async () => {
  expect(await copy('nobody', 'g2')).toBeNull()
  expect(await copy('exp-g1', 'g2')).toBeNull()
  expect(await copy('source', 'g2', api.project.sandboxEnvironment)).toBeNull()
})

test('a copy is hidden, its code has precedence over other errors, and its id is taken', async () => {
  const { body } = await api.call('GET', '/v4/offerings')
  expect(body.data.map(({ id }: { id: string }) => id).sort()).toEqual(['other', 'source'])
  expect((await api.call('GET', '/v4/offerings/exp-g1')).status).toBe(404)
  const code = async (method: string, path = '', body?: unknown) => {
    const answer = await api.call(method, `/v4/offerings/exp-g1${path}`, body === undefined ? {} : { body })
    return [answer.status, answer.body.error.type, answer.body.error.code]
  }
  for (const patch of [{}, { tag: 1 }, { tag: 5 }, { product_ids: ['nope'] }])
    expect(await code('PATCH', '', patch)).toEqual([422, 'logical', 'cannot_patch_experiment_variant'])
  expect(await code('DELETE')).toEqual([422, 'logical', 'cannot_delete_experiment_variant'])
  expect(await code('POST', '/set-main')).toEqual([422, 'logical', 'cannot_setmain_experiment_variant'])
  expect((await create('exp-g1')).body.error.code).toBe('offering_already_exists')
  const restarted = await api.call('GET', '/v4/offerings?starting_after=exp-g1')
  expect(restarted.headers.get('x-qon-pagination-restarted')).toBe('true')
})

test('copies do not count: the last regular offering can be deleted, and the next one is the main one', async () => {
  for (const id of ['other', 'source']) expect((await api.call('DELETE', `/v4/offerings/${id}`)).status).toBe(204)
  expect((await create('anew', ['a'])).body.tag).toBe(1)
  expect(await productsOf('exp-g1')).toEqual(['b'])
})

test('a deleted product is removed from the copy, too', async () => {
  await api.call('DELETE', '/v4/products/b')
  expect(await productsOf('exp-g1')).toEqual([])
})

test('a copy is deleted with its group, and never a regular offering instead', async () => {
  await create('exp-g3')
  await expect(copy('anew', 'g3')).rejects.toMatchObject({ code: 'conflict' })
  for (const group of ['g1', 'g3', 'g4']) await transaction(api.pool, tx => dropVariant(tx, api.project.production, group))
  expect((await create('exp-g1')).status).toBe(201)
  expect((await api.call('GET', '/v4/offerings/exp-g3')).status).toBe(200)
})
