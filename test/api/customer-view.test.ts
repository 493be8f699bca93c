import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { storeUsers } from '../harness/customers.ts'
import { item } from '../harness/events.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const strangers = async () => {
  const other = await api.newProject()
  return [api.project.sandbox, other.secret, other.sandbox]
}

describe('the whole view', () => {
  test('shows all data of the customer, without an id beside data', async () => {
    await storeUsers(api.pool, api.project.production, [
      {
        id: 'QON_ada',
        created_at: '2026-01-01T00:00:00Z',
        last_seen_at: '2026-02-02T00:00:00Z',
        identity_id: 'ada',
        properties: { zeta: 'z', _q_email: 'ada@example.org', '10': 'ten', Zoo: '' },
        status: 'canceled',
        payments_count: 2,
        net_payments_usd: '-0.005',
        platform: 'Android',
        country: 'DE',
        device_model: 'Pixel 11',
        os_version: '17',
        app_version: '4.2.0',
        sdk_version: '7.1.0',
        media_source: 'Apple Search Ads',
        ad_set: 'set',
      },
    ])
    const { status, body } = await api.call('GET', '/v4/customers/QON_ada')
    expect(status).toBe(200)
    expect(body).toEqual({
      object: 'customer',
      url: '/v4/customers/QON_ada',
      data: {
        customer: {
          client_id: 'QON_ada',
          external_identity: 'ada',
          environment: 1,
          platform: 'Android',
          country: 'DE',
          status: 'canceled',
          since: '2026-01-01T00:00:00Z',
          last_seen: '2026-02-02T00:00:00Z',
        },
        device: { platform: 'Android', os_version: '17', device_model: 'Pixel 11', app_version: '4.2.0', sdk_version: '7.1.0' },
        attributionData: [
          { key: 'source', value: 'Apple Search Ads' },
          { key: 'ad_set', value: 'set' },
        ],
        userProperties: [
          { key: '10', value: 'ten' },
          { key: 'Zoo', value: '' },
          { key: '_q_email', value: 'ada@example.org' },
          { key: 'zeta', value: 'z' },
        ],
        trackEvents: [],
        netPayments: -0.01,
        currency: 'USD',
        conversionRate: 1,
        canRemoveCustomer: true,
        canEditEntitlements: true,
      },
    })
  })

  test('lists the last hundred occurrences, newest first, money that went back negative', async () => {
    await storeUsers(api.pool, api.project.production, [{ id: 'QON_busy' }, { id: 'QON_other' }])
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString().replace('.000Z', 'Z')
    const events = [
      ...Array.from({ length: 110 }, (_, i) => item({ customer_uid: 'QON_busy', event_name: `step_${i}`, happened_at: at(i) })),
      item({ customer_uid: 'QON_busy', event_name: 'in_app_refunded', happened_at: at(500), product_id: 'p', price: '4.99' }),
      item({ customer_uid: 'QON_busy', event_name: 'in_app_purchase', happened_at: at(400), price: '10', currency: 'JPY' }),
      item({ customer_uid: 'QON_other', event_name: 'elsewhere', happened_at: at(600) }),
    ]
    expect((await api.call('POST', '/v4/events', { body: { events } })).body.created).toBe(113)
    const { trackEvents } = (await api.call('GET', '/v4/customers/QON_busy')).body.data
    expect(trackEvents.slice(0, 3)).toEqual([
      { event: 'in_app_refunded', at: at(500), product_id: 'p', revenue_usd: -4.99 },
      { event: 'in_app_purchase', at: at(400), product_id: null, revenue_usd: null },
      { event: 'step_109', at: at(109), product_id: null, revenue_usd: 9.99 },
    ])
    expect(trackEvents).toHaveLength(100)
    expect(trackEvents.at(-1).event).toBe('step_12')
  })

  test('occurrences of one instant are ordered by id, newest first', async () => {
    await storeUsers(api.pool, api.project.production, [{ id: 'QON_tie' }])
    const events = ['one', 'two', 'three'].map(event_name => item({ customer_uid: 'QON_tie', event_name }))
    await api.call('POST', '/v4/events', { body: { events } })
    const { trackEvents } = (await api.call('GET', '/v4/customers/QON_tie')).body.data
    expect(trackEvents.map((event: { event: string }) => event.event)).toEqual(['three', 'two', 'one'])
  })

  test('a customer of the other environment or another project is not found', async () => {
    await storeUsers(api.pool, api.project.production, [{ id: 'QON_mine' }])
    for (const key of await strangers()) expect((await api.call('GET', '/v4/customers/QON_mine', { key })).status).toBe(404)
    const malformed = await api.call('GET', '/v4/customers/a%20b')
    expect([malformed.status, malformed.body.error.details[0].field]).toEqual([400, 'customer_id'])
  })
})

describe('properties', () => {
  const set = (id: string, properties: { key: string; value: string }[], options = {}) =>
    api.call('POST', `/v4/customers/${id}/properties`, { body: { properties }, ...options })
  const entries = async (id: string) =>
    (
      await api.pool.query(
        'select operation, resource, resource_id, user_id, before, after from audit_log where environment = $1 and user_id = $2 order by id',
        [api.project.production, id],
      )
    ).rows

  test('are those of the user: valid rows are saved, invalid ones are named, and one audit entry has the changes', async () => {
    await storeUsers(api.pool, api.project.production, [{ id: 'QON_p', properties: { color: 'red', size: 'L' } }])
    const answer = await set('QON_p', [
      { key: 'size', value: 'L' },
      { key: '_mine', value: 'x' },
      { key: 'color', value: 'blue' },
    ])
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      object: 'customer_properties',
      url: '/v4/customers/QON_p/properties',
      data: {
        saved_properties: [
          { key: 'size', value: 'L' },
          { key: 'color', value: 'blue' },
        ],
        property_errors: [{ key: '_mine', error: 'property key: _mine. Error: reserved key' }],
      },
    })
    expect((await api.call('GET', '/v4/customers/QON_p')).body.data.userProperties).toEqual([
      { key: 'color', value: 'blue' },
      { key: 'size', value: 'L' },
    ])
    expect((await api.call('GET', '/v4/users/QON_p/properties')).body.data[0]).toMatchObject({ key: 'color', value: 'blue' })
    expect(await entries('QON_p')).toEqual([
      {
        operation: 'v4SetCustomerProperties',
        resource: 'customer',
        resource_id: 'QON_p',
        user_id: 'QON_p',
        before: { userProperties: [{ key: 'color', value: 'red' }] },
        after: { userProperties: [{ key: 'color', value: 'blue' }] },
      },
    ])
  })

  test('leave no entry when they are unchanged or refused', async () => {
    await storeUsers(api.pool, api.project.production, [{ id: 'QON_q', properties: { color: 'red' } }])
    expect((await set('QON_q', [{ key: 'color', value: 'red' }])).body.data.saved_properties).toHaveLength(1)
    const refused = await set('QON_q', [{ key: '!', value: '' }])
    expect([refused.status, refused.body.error.code, refused.body.error.details[0].field]).toEqual([400, 'invalid_data', 'properties'])
    expect((await set('QON_q', [{ key: 'a', value: 'x'.repeat(1025) }])).body.error.details[0].field).toBe('properties[0].value')
    expect(await entries('QON_q')).toEqual([])
  })

  test('a repeat with the same Idempotency-Key has the same response and one effect', async () => {
    await storeUsers(api.pool, api.project.production, [{ id: 'QON_i' }])
    const headers = { 'Idempotency-Key': 'set-once' }
    const first = await set('QON_i', [{ key: 'a', value: '1' }], { headers })
    await set('QON_i', [{ key: 'a', value: '2' }])
    const again = await set('QON_i', [{ key: 'a', value: '1' }], { headers })
    expect(again.body).toEqual(first.body)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect((await api.call('GET', '/v4/customers/QON_i')).body.data.userProperties).toEqual([{ key: 'a', value: '2' }])
  })

  test('each entry of fifty concurrent writers continues from the one before it', async () => {
    await storeUsers(api.pool, api.project.production, [{ id: 'QON_race', properties: { n: 'start' } }])
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => set('QON_race', [{ key: 'n', value: `v${i}` }])))
    expect(answers.map(answer => answer.status)).toEqual(Array.from({ length: 50 }, () => 200))
    const value = (side: { userProperties: { value: string }[] }) => side.userProperties[0]!.value
    const steps = new Map((await entries('QON_race')).map(entry => [value(entry.before), value(entry.after)]))
    expect(steps.size).toBe(50)
    let at = 'start'
    for (let n = 0; n < 50; n++) at = steps.get(at)!
    expect((await api.call('GET', '/v4/customers/QON_race')).body.data.userProperties[0].value).toBe(at)
  })

  test('a customer of the other environment or another project is not found', async () => {
    await storeUsers(api.pool, api.project.production, [{ id: 'QON_theirs' }])
    for (const key of await strangers()) expect((await set('QON_theirs', [{ key: 'a', value: '1' }], { key })).status).toBe(404)
    expect((await set('QON_nobody', [{ key: 'a', value: '1' }])).status).toBe(404)
  })
})
