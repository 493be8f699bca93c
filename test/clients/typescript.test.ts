import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { all, dryRun, type Operations, PerennialError, perennial } from '../../clients/typescript/src/index.ts'
import { startApi, type TestApi } from '../harness/api.ts'

let server: TestApi
let api: Operations
let sandbox: Operations
let sent: Request[] = []

const recorded = (request: Request) => {
  sent.push(request.clone())
  return fetch(request)
}
/** The requests as the service received them; the address has its brackets unencoded. */
const requestCount = () => sent.map(({ method, url }) => `${method} ${url.slice(server.url.length)}`)
const product = (id: string) => api.v4CreateProduct({ body: { id, type: 'lifetime' } })
const failureOf = async (answer: Promise<unknown>): Promise<PerennialError> => {
  const error: unknown = await answer.catch(error => error)
  if (error instanceof PerennialError) return error
  throw new Error('it did not fail', { cause: error })
}

beforeAll(async () => {
  server = await startApi()
  api = perennial({ url: server.url, key: server.project.secret, fetch: recorded })
  sandbox = perennial({ url: `${server.url}/`, key: server.project.sandbox })
})
afterAll(() => server.stop())

test('a call returns the object, and withResponse the headers, too', async () => {
  const { data, response } = await product('pro').withResponse()
  expect(data).toMatchObject({ object: 'product', id: 'pro', type: 'lifetime', duration: null })
  expect([response.status, response.headers.get('Location')]).toEqual([201, '/v4/products/pro'])
  expect(await api.v4GetProduct({ path: { product_id: 'pro' } })).toEqual(data)
  expect(await api.v4UpdateProduct({ path: { product_id: 'pro' }, body: { apple_product_id: 'com.pro' } })).toEqual({
    ...data,
    apple_product_id: 'com.pro',
    updated_at: expect.any(String),
  })
})

test('a 204 returns nothing', async () => {
  await product('short')
  expect(await api.v4DeleteProduct({ path: { product_id: 'short' } })).toBeUndefined()
  expect((await failureOf(api.v4GetProduct({ path: { product_id: 'short' } }))).status).toBe(404)
})

test('dryRun tells what a call would do, and does nothing', async () => {
  await product('tried')
  const path = { product_id: 'tried' }
  const { data, response } = await dryRun(api.v4DeleteProduct, { path }).withResponse()
  expect([response.status, data.status, data.changes[0]]).toMatchObject([200, 204, { action: 'delete', object: 'product', id: 'tried' }])
  expect((await api.v4GetProduct({ path })).id).toBe('tried')
  expect((await failureOf(dryRun(api.v4DeleteProduct, { path: { product_id: 'unknown' } }))).status).toBe(404)
  const events = [{ event_id: 'tried', event_name: 'opened', happened_at: '2026-03-01T09:00:00Z' }]
  expect((await dryRun(api.v4CreateEvents, { body: { events } })).created).toBe(1)
  expect((await api.v4ListEvents()).data).toEqual([])
})

test('each client uses the environment of its own key', async () => {
  await sandbox.v4CreateProduct({ body: { id: 'trial', type: 'consumable' } })
  expect((await failureOf(api.v4GetProduct({ path: { product_id: 'trial' } }))).code).toBe('not_found')
  expect((await failureOf(perennial({ url: server.url, key: 'sk_unknown_unknown_unknown' }).v4ListProducts())).status).toBe(401)
})

describe('a request', () => {
  test('spells query names and values as described, and repeats the name for arrays', async () => {
    sent = []
    await api.v4ListAuditLog({
      query: { limit: 2, 'filter[resource][]': ['product', 'a&b=c'], 'filter[resource_id]': 'x y', from: '2026-02-01T00:00:00+01:00' },
    })
    await api.v4ListProducts({ query: { 'filter[type]': ['subscription', 'lifetime'], starting_after: undefined } })
    await api.v4ListProducts({ query: { 'filter[type]': [] } })
    await failureOf(api.v4GetScreen({ path: { screen_id: 'none' }, query: { render: false } }))
    expect(requestCount()).toEqual([
      'GET /v4/audit-log?limit=2&filter[resource][]=product&filter[resource][]=a%26b%3Dc&filter[resource_id]=x%20y&from=2026-02-01T00%3A00%3A00%2B01%3A00',
      'GET /v4/products?filter[type]=subscription&filter[type]=lifetime',
      'GET /v4/products',
      'GET /v4/screens/none?render=false',
    ])
  })

  test('passes a filter to the service', async () => {
    await product('filtered')
    const { data } = await api.v4ListAuditLog({ query: { 'filter[resource_id]': 'filtered', 'filter[operation][]': ['v4CreateProduct'] } })
    expect(data.map(entry => [entry.operation, entry.resource_id])).toEqual([['v4CreateProduct', 'filtered']])
  })

  test('has the key and the given headers, and a content type only with a body', async () => {
    sent = []
    await api.v4ListProducts({ headers: { 'X-Request-Id': 'mine-1' } })
    await api.v4CreateUser({ body: { environment: 'prod' } })
    const [list, create] = sent.map(({ headers }) => Object.fromEntries(headers))
    expect(list).toEqual({ authorization: `Bearer ${server.project.secret}`, 'x-request-id': 'mine-1' })
    expect(create).toEqual({ authorization: `Bearer ${server.project.secret}`, 'content-type': 'application/json' })
  })

  test.each(['.', '..', ''])('cannot get another address by the id "%s"', async user_id => {
    sent = []
    await api.v4CreateEntitlement({ body: { id: `kept${user_id.length}`, description: 'x', product_ids: [] } })
    const revoked = api.v4RevokeUserEntitlement({ path: { user_id, entitlement_id: `kept${user_id.length}` } })
    await expect(revoked).rejects.toThrow(RangeError)
    expect(requestCount()).toEqual(['POST /v4/entitlements'])
  })

  test('encodes an id', async () => {
    sent = []
    await failureOf(api.v4GetProduct({ path: { product_id: 'a/../b?c' } }))
    expect(requestCount()).toEqual(['GET /v4/products/a%2F..%2Fb%3Fc'])
  })
})

describe('failures', () => {
  test('of fields have details', async () => {
    const error = await failureOf(api.v4ListProducts({ query: { limit: 101 }, headers: { 'X-Request-Id': 'mine-2' } }))
    expect(error).toMatchObject({ name: 'PerennialError', status: 400, code: 'invalid_data', type: 'request', requestId: 'mine-2' })
    expect(error.details).toEqual([{ field: 'limit', message: 'must be <= 100' }])
    expect(error.message).toBe('limit must be <= 100')
  })

  test('of state have none', async () => {
    await product('taken')
    expect(await failureOf(product('taken'))).toMatchObject({ status: 409, code: 'already_exists', type: 'resource', details: [] })
  })

  test('are thrown by withResponse, too, once', async () => {
    expect((await failureOf(api.v4GetProduct({ path: { product_id: 'none' } }).withResponse())).code).toBe('not_found')
  })

  test.each([
    ['a page of a proxy', () => new Response('<html>', { status: 502, headers: { 'Retry-After': '7' } }), [502, 'internal', 7]],
    ['a page of another site', () => new Response('<html>', { headers: { 'Content-Type': 'text/html' } }), [200, 'request', undefined]],
    ['JSON of something else', () => Response.json({ error: 'no' }, { status: 404 }), [404, 'request', undefined]],
    ['null', () => Response.json(null, { status: 500 }), [500, 'internal', undefined]],
  ])('include %s', async (_, response, expected) => {
    const elsewhere = perennial({ url: 'http://localhost', key: 'sk_', fetch: async () => response() })
    const { status, code, type, retryAfter } = await failureOf(elsewhere.v4ListProducts())
    expect([code, status, type, retryAfter]).toEqual(['unknown_error', ...expected])
  })

  test('include a redirect, since a POST that follows it would have no effect', async () => {
    const seen: Request['redirect'][] = []
    const moved = async ({ redirect }: Request) => {
      seen.push(redirect)
      return new Response(null, { status: 301, headers: { Location: 'https://localhost/v4/users' } })
    }
    const elsewhere = perennial({ url: 'http://localhost', key: 'sk_', fetch: moved })
    expect((await failureOf(elsewhere.v4CreateUser({ body: { environment: 'prod' } }))).status).toBe(301)
    expect(seen).toEqual(['manual'])
  })

  test('without a response are those of fetch', async () => {
    await expect(api.v4ListProducts({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    await expect(perennial({ url: 'http://127.0.0.1:1', key: 'sk_' }).v4ListProducts()).rejects.toBeInstanceOf(TypeError)
    expect(() => perennial({ url: 'localhost', key: 'sk_' })).toThrow(TypeError)
  })
})

test('an Idempotency-Key makes a repeat safe', async () => {
  const create = (type: 'lifetime' | 'consumable') =>
    api.v4CreateProduct({ body: { id: 'once', type }, headers: { 'Idempotency-Key': 'create once' } })
  const first = await create('lifetime')
  const again = await create('lifetime').withResponse()
  expect(again.data).toEqual(first)
  expect(again.response.headers.get('Idempotency-Replayed')).toBe('true')
  expect(await failureOf(create('consumable'))).toMatchObject({ status: 409, code: 'idempotency_conflict', type: 'logical' })
})

describe('all rows of a list', () => {
  let list: Operations
  const ids = ['e', 'd', 'c', 'b', 'a']
  const rows = (call?: Parameters<Operations['v4ListProducts']>[0]) => all(list.v4ListProducts, call)
  const idsOf = async (call: Parameters<typeof rows>[0]) => {
    const found: string[] = []
    for await (const { id } of rows(call)) found.push(id)
    return found
  }

  beforeAll(async () => {
    const { secret } = await server.newProject()
    list = perennial({ url: server.url, key: secret, fetch: recorded })
  })
  const fill = async () => {
    for (const id of [...ids].reverse()) await list.v4CreateProduct({ body: { id, type: 'lifetime' } }).catch(() => {})
  }

  test('are fetched page by page, as they are read', async () => {
    await fill()
    sent = []
    const found: string[] = []
    for await (const { id } of rows({ query: { limit: 2, 'filter[type]': ['lifetime', 'consumable'] } })) {
      found.push(id)
      if (found.length === 2) expect(sent).toHaveLength(1)
    }
    expect(found).toEqual(ids)
    expect(requestCount()).toEqual([
      'GET /v4/products?limit=2&filter[type]=lifetime&filter[type]=consumable',
      'GET /v4/products?limit=2&filter[type]=lifetime&filter[type]=consumable&starting_after=d',
      'GET /v4/products?limit=2&filter[type]=lifetime&filter[type]=consumable&starting_after=b',
    ])
    expect(await idsOf({ query: { starting_after: 'c' } })).toEqual(['b', 'a'])
    await expect(idsOf({ query: { limit: 0 } })).rejects.toThrow(PerennialError)
  })

  test('are returned once each when the row of a cursor is deleted meanwhile', async () => {
    await fill()
    const found: string[] = []
    for await (const { id } of rows({ query: { limit: 2 } })) {
      found.push(id)
      if (id === 'd') await list.v4DeleteProduct({ path: { product_id: id } })
    }
    expect(found).toEqual(ids)
  })

  test('can be deleted one after the other', async () => {
    await fill()
    for await (const { id } of rows({ query: { limit: 2 } })) await list.v4DeleteProduct({ path: { product_id: id } })
    expect((await list.v4ListProducts()).data).toEqual([])
  })
})
