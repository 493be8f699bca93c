import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { projectOf, refusal, storeUsers } from '../harness/customers.ts'
import { item } from '../harness/events.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

describe('list', () => {
  test('a customer has every field, null where nothing is known', async () => {
    const { list } = await projectOf(api, [
      { id: 'QON_new', created_at: '2026-01-02T00:00:00Z' },
      {
        id: 'QON_rich',
        created_at: '2026-01-01T00:00:00.9Z',
        last_seen_at: '2026-02-02T00:00:00Z',
        identity_id: 'ada',
        properties: { _q_custom_user_id: 'c-1' },
        status: 'active',
        first_transaction_at: '2026-01-03T00:00:00Z',
        last_payment_at: '2026-01-04T00:00:00Z',
        payments_count: 3,
        purchase_currency: 'EUR',
        purchase_product_id: 'com.example.monthly',
        net_payments_usd: '19.985',
        platform: 'Paddle',
        country: 'DE',
        device_model: 'iPhone17,1',
        device_id: 'd-1',
        os_version: '19.1',
      },
    ])
    const { status, body } = await list('')
    expect(status).toBe(200)
    expect(body).toEqual({
      object: 'list',
      url: '/v4/customers',
      has_more: false,
      data: [
        {
          object: 'customer',
          id: 'QON_new',
          url: '/v4/customers/QON_new',
          external_identity: null,
          custom_uid: null,
          environment: 1,
          status: 'none',
          since: '2026-01-02T00:00:00Z',
          last_seen: '2026-02-01T00:00:00Z',
          first_transaction_purchase_at: null,
          last_payment_at: null,
          payments_count: 0,
          purchase_currency: null,
          purchase_product_id: null,
          net_payments_usd: 0,
          target_platform: null,
          client_country: null,
          device_model: null,
          device_id: null,
          device_os_version: null,
        },
        {
          object: 'customer',
          id: 'QON_rich',
          url: '/v4/customers/QON_rich',
          external_identity: 'ada',
          custom_uid: 'c-1',
          environment: 1,
          status: 'active',
          since: '2026-01-01T00:00:00Z',
          last_seen: '2026-02-02T00:00:00Z',
          first_transaction_purchase_at: '2026-01-03T00:00:00Z',
          last_payment_at: '2026-01-04T00:00:00Z',
          payments_count: 3,
          purchase_currency: 'EUR',
          purchase_product_id: 'com.example.monthly',
          net_payments_usd: 19.99,
          target_platform: 'Paddle',
          client_country: 'DE',
          device_model: 'iPhone17,1',
          device_id: 'd-1',
          device_os_version: '19.1',
        },
      ],
    })
  })

  test('an error names its parameter', async () => {
    const refusalOf = async (query: string) => refusal(await api.call('GET', `/v4/customers?${query}`))
    expect(await refusalOf('starting_after=a&page=1')).toEqual([400, 'invalid_data', ['page']])
    expect(await refusalOf('page=0')).toEqual([400, 'invalid_data', ['page']])
    expect(await refusalOf('page=1001')).toEqual([400, 'invalid_data', ['page']])
    expect(await refusalOf('limit=101')).toEqual([400, 'invalid_data', ['limit']])
    expect(await refusalOf('environment=0')).toEqual([400, 'invalid_data', ['environment']])
    expect(await refusalOf('environment=2')).toEqual([400, 'invalid_data', ['environment']])
    expect(await refusalOf('sort_by=id')).toEqual([400, 'invalid_data', ['sort_by']])
    expect(await refusalOf('search=')).toEqual([400, 'invalid_data', ['search']])
    expect(await refusalOf(`search=${encodeURIComponent('🦊'.repeat(256))}`)).toEqual([400, 'invalid_data', ['search']])
    expect(await refusalOf('filter[status][]=active&filter[status][]=paid')).toEqual([400, 'invalid_data', ['filter[status][]']])
    expect(await refusalOf('filter[target_platform][]=ios')).toEqual([400, 'invalid_data', ['filter[target_platform][]']])
    expect(await refusalOf('filter[status]=active')).toEqual([400, 'invalid_data', ['filter[status]']])
    expect(await refusalOf('filter[status][]=none&'.repeat(51))).toEqual([400, 'invalid_data', ['filter[status][]']])
    expect((await api.call('GET', `/v4/customers?${'filter[status][]=none&'.repeat(50)}`)).status).toBe(200)
    expect((await api.call('GET', `/v4/customers?environment=1&search=${encodeURIComponent('🦊'.repeat(255))}`)).status).toBe(200)
  })

  test('repeated filters are alternatives, different filters must all match, and encoded brackets are the same name', async () => {
    const { ids } = await projectOf(api, [
      { id: 'a', status: 'active', platform: 'iOS' },
      { id: 'b', status: 'trial', platform: 'iOS' },
      { id: 'c', status: 'active', platform: 'Android' },
      { id: 'd' },
    ])
    expect(await ids('?sort_order=asc&filter[status][]=active&filter[status][]=trial')).toEqual(['a', 'b', 'c'])
    expect(await ids('?sort_order=asc&filter%5Bstatus%5D%5B%5D=active&filter[target_platform][]=iOS')).toEqual(['a'])
    expect(await ids('?sort_order=asc&filter[status][]=none&filter[status][]=trial')).toEqual(['b', 'd'])
  })

  test("the list continues after the present value of the cursor's row, even when the filters no longer match it", async () => {
    const { project, list, ids } = await projectOf(
      api,
      ['a', 'b', 'c', 'd', 'e'].map((id, i) => ({ id, status: 'active', payments_count: 1, net_payments_usd: i * 10 })),
    )
    const query = '?sort_by=net_payments_usd&sort_order=asc&limit=2&filter[status][]=active'
    const first = await list(query)
    expect(first.body.next_cursor).toBe('b')
    await api.pool.query(`update users set status = 'churned', net_payments_usd = 35 where environment = $1 and id = 'b'`, [
      project.production,
    ])
    expect(await ids(`${query}&starting_after=b`)).toEqual(['e'])
  })

  test('a cursor without a row in this environment gives the first page and a header that says so', async () => {
    const { project, list } = await projectOf(api, [{ id: 'a' }, { id: 'b' }])
    await storeUsers(api.pool, project.sandboxEnvironment, [{ id: 'other' }])
    for (const cursor of ['QON_nobody', 'other']) {
      const page = await list(`?limit=1&starting_after=${cursor}`)
      expect(page.body.data).toHaveLength(1)
      expect(page.body.next_cursor).toBe('b')
      expect(page.headers.get('x-qon-pagination-restarted')).toBe('true')
    }
    expect((await list('?starting_after=a')).headers.get('x-qon-pagination-restarted')).toBeNull()
  })

  test('a page past the end is empty', async () => {
    const { list } = await projectOf(api, [{ id: 'a' }])
    expect((await list('?page=1000&limit=100')).body).toEqual({ object: 'list', url: '/v4/customers', data: [], has_more: false })
  })

  test('each key lists the customers of its own environment', async () => {
    const { project, ids } = await projectOf(api, [{ id: 'mine' }])
    await storeUsers(api.pool, project.sandboxEnvironment, [{ id: 'tested', identity_id: 'mine' }])
    expect(await ids('')).toEqual(['mine'])
    expect(await ids('?search=mine')).toEqual(['mine'])
    const sandbox = await api.call('GET', '/v4/customers?environment=0', { key: project.sandbox })
    expect(sandbox.body.data.map((row: { id: string; environment: number }) => [row.id, row.environment])).toEqual([['tested', 0]])
  })
})

test('a payment without product has none', async () => {
  const id = (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body.id
  await api.call('POST', '/v4/events', { body: { events: [item({ customer_uid: id, product_id: undefined })] } })
  const { body } = await api.call('GET', `/v4/customers?search=${id}`)
  expect(body.data[0]).toMatchObject({ id, payments_count: 1, purchase_product_id: null })
})
