// A person or a thing by what names it: what is found, what a key may see, and texts that mean harm.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { storeUsers } from '../harness/customers.ts'
import { hook, must, post, sandbox } from '../harness/integrations.ts'
import { namedKey } from '../harness/named-keys.ts'
import { reportTo } from '../harness/reports.ts'

let api: TestApi
let call: ReturnType<typeof sandbox>
/** The ids of one thing of each kind. */
const ids: Record<string, string> = {}
let ada: string

type Result = { kind: string; id: string; url: string; title: string; subtitle: string }
const search = async (q: string, key = api.project.sandbox): Promise<Result[]> => {
  const { status, body, text } = await api.call('GET', `/v4/search?${new URLSearchParams({ q })}`, { key })
  expect(status, text).toBe(200)
  return body.data
}
const found = async (q: string, key?: string) => (await search(q, key)).map(({ kind, id }) => [kind, id])

beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
  const webhook = await hook({ call, config: { events: ['arrived'] } })
  ids.integration = webhook.id
  const data = { initiators: [{ uid: 'arrived', type: 'event' }], actions: {}, steps: [{ id: 'end', type: 'exit' }] }
  ids.automation = (await must(call, 'POST', '/v4/automations', { name: 'Welcome', status: 'active', data })).id
  ada = (await must(call, 'POST', '/v4/users', { environment: 'sandbox' })).id
  await must(call, 'POST', '/v4/identities', { identity_id: 'Customer-1042', user_id: ada })
  const properties = { _q_email: 'Ada@Example.org', _q_name: 'Ada Lovelace', _q_custom_user_id: 'cust.7' }
  await must(call, 'POST', `/v4/customers/${ada}/properties`, {
    properties: Object.entries(properties).map(([key, value]) => ({ key, value })),
  })
  await must(call, 'POST', '/v4/products', { id: 'monthly', type: 'subscription', duration: 'P1M', apple_product_id: 'com.monthly' })
  const { now } = await must(call, 'GET', '/v4/test-clock')
  await must(call, 'POST', `/v4/users/${ada}/purchases`, {
    ...{ currency: 'EUR', price: '9.99', purchased_at: now },
    app_store_data: { transaction_id: 'T-2', original_transaction_id: 'T-1', product_id: 'com.monthly' },
  })
  await post(call, { event_name: 'arrived', customer_uid: ada, identity_id: undefined, price: undefined, currency: undefined })
  ids.export = (
    await must(call, 'POST', '/v4/exports', { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-02-01T00:00:00Z' })
  ).id
  const report = await must(call, 'POST', '/v4/scheduled-reports', reportTo([webhook.id]))
  ids.scheduled_report = report.id
  await must(call, 'POST', '/v4/test-clock/advance', { by: 'P2D' })
  const list = async (path: string) => (await must(call, 'GET', path)).data[0].id as string
  ids.event = await list('/v4/events?filter%5Bevent_name%5D%5B%5D=arrived')
  ids.automation_run = await list(`/v4/automations/${ids.automation}/runs`)
  ids.delivery = await list(`/v4/integrations/${ids.integration}/deliveries`)
  ids.report_run = await list(`/v4/scheduled-reports/${report.id}/runs`)
}, 120_000)
afterAll(() => api.stop())

test('a thing is found by its id, with where it is read and what tells it from others', async () => {
  for (const [kind, id] of Object.entries(ids))
    expect(await search(id), kind).toMatchObject([{ kind, id, url: expect.stringContaining(id) }])
  const of = async (kind: string) => (await search(ids[kind]!))[0]!
  expect(await of('automation_run')).toMatchObject({ title: 'Welcome', subtitle: 'arrived · succeeded' })
  expect(await of('delivery')).toMatchObject({
    ...{ url: `/v4/integrations/${ids.integration}/deliveries/${ids.delivery}`, subtitle: 'arrived · delivered' },
  })
  expect(await of('event')).toMatchObject({ title: 'arrived', subtitle: ada })
  for (const kind of ['event', 'automation', 'automation_run', 'export'])
    expect((await must(call, 'GET', (await of(kind)).url)).id).toBe(ids[kind])
  // Another environment, another project.
  expect(await found(ids.automation_run!, api.project.secret)).toEqual([])
  expect(await found(ids.automation_run!, (await api.newProject()).sandbox)).toEqual([])
})

test.each([
  'Customer-1042',
  'customer-10',
  'ada@example.org',
  'ADA@EX',
  'ada love',
  'CUST.7',
  'T-2',
  'T-1',
  '  T-1 ',
])('a person is found by %j', async q => {
  expect(await search(q)).toEqual([
    {
      ...{ object: 'search_result', kind: 'customer', id: ada, url: `/v4/customers/${ada}` },
      ...{ title: 'Ada Lovelace', subtitle: 'Ada@Example.org · active' },
    },
  ])
})

test('a person is found by the id and its beginning, and not by a part of a transaction, nor by the text in the middle', async () => {
  expect(await found(ada)).toEqual([['customer', ada]])
  expect(await found(ada.slice(0, 12))).toEqual([['customer', ada]])
  for (const q of ['T-', 'example.org', '1042', 'xyz']) expect([q, await found(q)]).toEqual([q, []])
})

test('at most 20 results, those whose id or identity is the text first', async () => {
  const project = await api.newProject()
  const users = Array.from({ length: 60 }, (_, n) => ({
    id: `many_${n}`,
    identity_id: `many-${n}`,
    properties: { _q_email: `many${n}@example.org` },
  }))
  await storeUsers(api.pool, project.production, [...users, { id: 'zzz', identity_id: 'many' }])
  const results = await search('many', project.secret)
  expect(results).toHaveLength(20)
  expect(results[0]!.id).toBe('zzz')
  expect(new Set(results.map(({ id }) => id)).size).toBe(20)
})

test('a key finds what it may read', async () => {
  const { key } = await namedKey(api, api.project, ['search:read', 'exports:read', 'events:read'], { sandbox: true })
  expect(await found(ids.export!, key)).toEqual([['export', ids.export]])
  expect(await found(ids.event!, key)).toEqual([['event', ids.event]])
  for (const q of [ada, 'ada@example.org', 'T-1', ids.automation!, ids.automation_run!, ids.integration!, ids.delivery!, ids.report_run!])
    expect([q, await found(q, key)]).toEqual([q, []])
  const without = await namedKey(api, api.project, ['customers:read'], { sandbox: true })
  expect((await api.call('GET', '/v4/search?q=ada', { key: without.key })).status).toBe(403)
})

describe('texts that mean harm', () => {
  test.each([
    "' or 1=1 --",
    '%',
    '_',
    '\\',
    '%%%',
    '$1',
    '{a,b}',
    'a'.repeat(255),
    '\u{10FFFF}'.repeat(64),
    '"; drop table users; --',
    '<img onerror=alert(1)>',
    '\u202Eada',
    '__proto__',
    'İ',
    'ß',
    '   ',
    '\n',
    '🐘',
  ])('%j finds nothing and breaks nothing', async q => {
    expect(await search(q)).toEqual([])
  })

  test.each(['', '?q=', `?q=${'a'.repeat(256)}`, '?q=a%00b', '?q=a&q=b', '?query=a', '?q=%ED%A0%80'])('%s is refused', async query => {
    expect((await call('GET', `/v4/search${query}`)).status).toBe(400)
  })
})
