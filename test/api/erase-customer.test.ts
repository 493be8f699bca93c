import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'
import { tracesOf } from '../harness/traces.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ worker: true })
  await product(api, { id: 'monthly', apple_product_id: 'm' })
  await api.call('POST', '/v4/entitlements', { body: { id: 'pro', product_ids: ['monthly'] } })
  await api.call('POST', '/v4/entitlements', { body: { id: 'gift' } })
})
afterAll(() => api.stop())

/** A customer with data in every table that can have some. */
async function person(identity: string): Promise<string> {
  const made = await api.call('POST', '/v4/users', { body: { environment: 'prod' }, headers: { 'Idempotency-Key': `make-${identity}` } })
  const user = made.body.id
  await api.call('POST', '/v4/identities', {
    body: { identity_id: identity, user_id: user },
    headers: { 'Idempotency-Key': `link-${identity}` },
  })
  const properties = [{ key: '_q_email', value: `${identity}@example.org` }]
  await api.call('POST', `/v4/users/${user}/properties`, { body: { properties }, headers: { 'Idempotency-Key': `set-${identity}` } })
  await api.call('POST', `/v4/customers/${user}/permissions`, { body: { permission_id: 'gift' } })
  const app_store_data = { transaction_id: `tx-${identity}`, product_id: 'm' }
  await purchaseOf(api, user, { purchased_at: new Date(Date.now() - 60_000).toISOString(), app_store_data })
  const event = { event_id: `ev-${identity}`, event_name: 'opened', customer_uid: user, happened_at: '2026-03-01T09:00:00Z' }
  await api.call('POST', '/v4/events', { body: { events: [event] } })
  return user
}

test('no table holds the id, the identity, the e-mail or the transaction of an erased customer; others are untouched', async () => {
  const [ada, bob] = [await person('ada-1'), await person('bob-1')]
  expect((await tracesOf(api.pool, ada)).length).toBeGreaterThan(6)
  expect((await api.call('DELETE', `/v4/customers/${ada}`)).status).toBe(204)
  for (const text of [ada, 'ada-1@', '"ada-1"', 'tx-ada-1']) expect(await tracesOf(api.pool, text), text).toEqual([])
  expect((await api.call('DELETE', `/v4/customers/${ada}`)).status).toBe(404)
  for (const path of [`/v4/users/${ada}`, `/v4/customers/${ada}`, '/v4/identities/ada-1'])
    expect((await api.call('GET', path)).status).toBe(404)
  expect((await api.call('GET', `/v4/customers/${bob}`)).body.data.customer.external_identity).toBe('bob-1')
  expect((await api.call('GET', `/v4/users/${bob}/purchases`)).body.data).toHaveLength(1)
})

test('no table has a hash of the erased id or identity that could be made without APP_SECRET', async () => {
  const user = await person('zoe-1')
  const segment = { name: 'only zoe', conditions: [{ metric: 'client_uid', comparator: 'eq', value: user }] }
  await api.call('POST', '/v4/segments', { body: segment })
  expect((await api.call('DELETE', `/v4/customers/${user}`)).status).toBe(204)
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  for (const hash of [sha256(user), sha256('zoe-1')]) expect(await tracesOf(api.pool, hash)).toEqual([])
  expect(await tracesOf(api.pool, api.secrets.pseudonym('zoe-1'))).toEqual(['public.audit_log'])
})

test('the audit log keeps its entries, with the pseudonym of the id', async () => {
  const user = await person('eve-1')
  await api.call('DELETE', `/v4/customers/${user}`, { headers: { 'X-Request-Id': 'forget-eve' } })
  const { body } = await api.call('GET', `/v4/audit-log?limit=100&filter[resource_id]=${api.secrets.pseudonym(user)}`)
  expect(body.data[0]).toMatchObject({
    operation: 'v4DeleteCustomer',
    resource: 'customer',
    resource_id: api.secrets.pseudonym(user),
    request_id: 'forget-eve',
    before: null,
    after: null,
  })
  expect(body.data.length).toBeGreaterThan(2)
  expect(new Set(body.data.map((entry: { after: unknown }) => entry.after))).toEqual(new Set([null]))
})

test('conditions that named the customer, and their audit entries, have a hash instead', async () => {
  const user = await person('cat-1')
  const conditions = [{ metric: 'client_uid', comparator: 'eq', value: user }]
  const segment = await api.call('POST', '/v4/segments', { body: { name: 'only she', conditions } })
  await api.call('POST', '/v4/remote-configurations', { body: { name: 'for her', segmentation_conditions: conditions } })
  await api.call('DELETE', `/v4/customers/${user}`)
  expect(await tracesOf(api.pool, user)).toEqual([])
  expect((await api.call('GET', segment.body.url)).body.conditions).toEqual([
    { ...conditions[0], value: api.secrets.pseudonym(user), negate: false },
  ])
})

test('the erased transaction can be recorded for another user, and its event is recorded again', async () => {
  const user = await person('tom-1')
  await api.call('DELETE', `/v4/customers/${user}`)
  const other = await userOf(api)
  const app_store_data = { transaction_id: 'tx-tom-1', product_id: 'm' }
  expect((await purchaseOf(api, other, { purchased_at: '2026-03-01T00:00:00Z', app_store_data })).status).toBe(201)
})

test('events, purchases, grants and evaluations concurrent with an erasure leave no traces and never fail', async () => {
  for (let round = 0; round < 5; round++) {
    const user = await person(`race-${round}`)
    const event = (i: number) => ({
      event_id: `r${round}-${i}`,
      event_name: 'trial_started',
      customer_uid: user,
      happened_at: '2026-03-01T09:00:00Z',
      platform: 'iOS',
    })
    const work = Array.from({ length: 12 }, (_, i) => [
      api.call('POST', '/v4/events', { body: { events: [event(i)] } }),
      purchaseOf(api, user, {
        purchased_at: '2026-03-01T00:00:00Z',
        app_store_data: { transaction_id: `r${round}-${i}`, product_id: 'm' },
      }),
      api.call('POST', `/v4/users/${user}/entitlements`, { body: { entitlement_id: 'gift' } }),
      api.call('POST', `/v4/users/${user}/properties`, { body: { properties: [{ key: 'k', value: String(i) }] } }),
      ...(i === 5 ? [api.call('DELETE', `/v4/customers/${user}`)] : []),
    ])
    const answers = await Promise.all(work.flat())
    expect(answers.filter(answer => answer.status >= 500).map(answer => answer.text)).toEqual([])
    expect(answers.some(answer => answer.status === 204)).toBe(true)
    expect(await tracesOf(api.pool, user)).toEqual([])
  }
})
