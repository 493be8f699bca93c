// Events that apps send into the log.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Hook, hook, must } from '../harness/integrations.ts'
import { unique } from '../harness/resource-makers.ts'
import { type V3Client, v3Client, v3Error, v3User } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 30_000 })
  v3 = v3Client(api)
})
afterAll(() => api.stop())

const sandbox = () => ({ key: api.project.sandbox })
const newUser = (environment: 'prod' | 'sandbox' = 'sandbox') => v3User(v3, environment)
const send = (user: string, events: unknown, headers: Record<string, string> = {}) =>
  v3('POST', `/v3/users/${user}/events`, { body: { events }, headers })
const one = (given: Record<string, unknown> = {}) => ({ event_id: 'e1', event_name: 'opened', ...given })
const stored = async (user: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: rows of the log
  (await api.pool.query<any>('select * from events where user_id = $1 order by partition, log_offset', [user])).rows
const EVT = expect.stringMatching(/^evt_/)
const CREATED = { created: 1, duplicates: 0, rejected: 0, results: [{ index: 0, event_id: 'e1', status: 'created', id: EVT }] }

test('an event is stored with all of its fields and what the headers say', async () => {
  const user = await newUser()
  const given = one({
    happened_at: 1_772_355_600,
    product_id: 'com.example.monthly',
    transaction_id: '2000',
    screen_id: 'onboarding-2',
    properties: { plan: 'free', step: 2, gift: false, none: null },
    unknown: { deep: [null] },
  })
  const headers = {
    Platform: 'iOS',
    'Platform-Version': '19.1',
    'User-Locale': 'de',
    'App-Version': '2.1',
    'Source-Version': '9.1.0',
    Country: 'DE',
  }
  const answer = await send(user, [given], headers)
  expect([answer.status, answer.body]).toEqual([200, CREATED])
  expect(await stored(user)).toMatchObject([
    {
      id: answer.body.results[0].id,
      name: 'opened',
      environment: api.project.sandboxEnvironment,
      platform: 'iOS',
      os_version: '19.1',
      locale: 'de',
      app_version: '2.1',
      sdk_version: '9.1.0',
      country: 'DE',
      product_id: 'com.example.monthly',
      transaction_id: '2000',
      transaction_key: null,
      screen_id: 'onboarding-2',
      properties: { plan: 'free', step: 2, gift: false },
      price: null,
      // It is months old.
      triggers: false,
    },
  ])
  expect(new Date((await stored(user))[0].happened_at).getTime()).toBe(1_772_355_600_000)
  const listed = (await api.call('GET', '/v4/events?limit=1', sandbox())).body.data[0]
  expect(listed).toMatchObject({ id: answer.body.results[0].id, event_name: 'opened', customer_uid: user })
})

test('an app tells the real time: its event acts within 72 hours, also where the clock of the sandbox runs ahead', async () => {
  const own = await api.newProject()
  const { id: user } = (await api.call('POST', '/v4/users', { key: own.sandbox, body: { environment: 'sandbox' } })).body
  await api.pool.query(`update environments set clock_offset = interval '27 days' where id = $1`, [own.sandboxEnvironment])
  const now = Math.floor(Date.now() / 1000)
  const events = [71, 73].map(hours => one({ event_id: `h${hours}`, happened_at: now - hours * 3600 }))
  const answer = await v3('POST', `/v3/users/${user}/events`, { key: own.projectKey, body: { events } })
  expect([answer.status, answer.body.created]).toEqual([200, 2])
  const acts = (await stored(user)).map(({ event_id, triggers }: { event_id: string; triggers: boolean }) => [event_id.slice(-3), triggers])
  expect(acts.sort()).toEqual([
    ['h71', true],
    ['h73', false],
  ])
})

test('without a time, and for one of the future, it is now', async () => {
  const user = await newUser()
  const soon = Math.floor(Date.now() / 1000) + 240
  const times = [undefined, null, Math.floor(Date.now() / 1000) + 400, 9e15, soon, 0]
  await send(
    user,
    times.map((happened_at, i) => one({ event_id: `t${i}`, happened_at })),
  )
  const seconds = (await stored(user)).map(({ happened_at }: { happened_at: string }) =>
    Math.round((Date.parse(happened_at) - Date.now()) / 1000),
  )
  for (const second of seconds.slice(0, 4)) expect(Math.abs(second)).toBeLessThan(60)
  expect((await stored(user)).slice(4).map(({ happened_at }: { happened_at: string }) => Date.parse(happened_at))).toEqual([soon * 1000, 0])
})

describe('a repeat', () => {
  test.each([
    ['with a time', 1_772_355_600],
    ['without a time', undefined],
    ['with a time of the future', 253_402_300_799],
    ['with a time beyond all clocks', Number.MAX_SAFE_INTEGER],
  ])('%s is stored once', async (_, happened_at) => {
    const user = await newUser()
    const first = await send(user, [one({ happened_at })])
    const again = await send(user, [one({ happened_at, properties: { other: 1 } })])
    const { id } = first.body.results[0]
    expect(again.body).toEqual({ created: 0, duplicates: 1, rejected: 0, results: [{ index: 0, event_id: 'e1', status: 'duplicate', id }] })
    expect(await stored(user)).toHaveLength(1)
  })

  test('within one request, too; another name or time is a conflict', async () => {
    const user = await newUser()
    const conflict = { code: 'idempotency_conflict', message: expect.stringMatching(/^event_id /) }
    const batch = [one(), one(), one({ happened_at: 5 }), one({ event_name: 'closed' }), one({ event_id: 'e2', happened_at: 9e15 })]
    const { body } = await send(user, batch)
    expect(body).toMatchObject({ created: 2, duplicates: 1, rejected: 2 })
    expect(body.results[1]).toEqual({ index: 1, event_id: 'e1', status: 'duplicate', id: body.results[0].id })
    for (const i of [2, 3]) expect(body.results[i]).toEqual({ index: i, event_id: 'e1', status: 'rejected', error: conflict })
    const again = await send(user, [one({ happened_at: 5 }), one(), one({ event_id: 'e2', happened_at: 8e15 }), one({ event_id: 'e2' })])
    expect(again.body.results.map(({ status }: { status: string }) => status)).toEqual(['rejected', 'duplicate', 'rejected', 'rejected'])
    expect(await stored(user)).toHaveLength(2)
  })

  test('an id is one of the user: another user and a server may have it, too', async () => {
    const [ann, ben] = [await newUser(), await newUser()]
    const ids = new Set<string>()
    for (const user of [ann, ben]) ids.add((await send(user, [one({ event_id: 'shared', happened_at: 7 })])).body.results[0].id)
    const item = { event_id: 'shared', event_name: 'opened', customer_uid: ann, happened_at: '1970-01-01T00:00:07Z' }
    const server = await api.call('POST', '/v4/events', { body: { events: [item] }, ...sandbox() })
    expect(server.body).toMatchObject({ created: 1 })
    ids.add(server.body.results[0].id)
    expect(ids.size).toBe(3)
    expect(await stored(ann)).toHaveLength(2)
  })

  test('twenty at a time are stored once', async () => {
    const user = await newUser()
    const batch = Array.from({ length: 5 }, (_, i) => one({ event_id: `e${i}` }))
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(user, batch)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(5)
    expect(await stored(user)).toHaveLength(5)
  })
})

describe('what is refused', () => {
  const SLUG =
    "made of lower-case letters, digits, '_', '.' and '-', with a letter or digit first and at least one letter, such as level_completed"
  const ID = "made of letters, digits, '.', '_', ':' and '-', such as paywall-7c1e"
  test.each([
    [{ price: '1' }, 'price', 'is not taken from apps'],
    [{ currency: 'EUR' }, 'currency', 'is not taken from apps'],
    [{ revenue: 0 }, 'revenue', 'is not taken from apps'],
    [{ event_id: undefined }, 'event_id', 'is required'],
    [{ event_id: null }, 'event_id', 'is required'],
    [{ event_id: 7 }, 'event_id', 'must be string'],
    [{ event_id: '@1:e1' }, 'event_id', `must be ${ID}`],
    [{ event_id: 'x'.repeat(129) }, 'event_id', 'must have at most 128 characters'],
    [{ event_name: 'Opened' }, 'event_name', `must be ${SLUG}`],
    [{ event_name: '2' }, 'event_name', `must be ${SLUG}`],
    [{ happened_at: -1 }, 'happened_at', 'must be >= 0'],
    [{ happened_at: '1' }, 'happened_at', 'must be integer'],
    [{ screen_id: 'x'.repeat(256) }, 'screen_id', 'must have at most 255 characters'],
    [{ properties: { a: { b: 1 } } }, 'properties.a', expect.any(String)],
    [{ properties: { a: 'x'.repeat(1025) } }, 'properties.a', expect.any(String)],
  ])('%j', async (fault, name, message) => {
    const user = await newUser()
    const alone = await send(user, [{ ...one(), ...fault }])
    expect(alone.status).toBe(400)
    expect(alone.body.error).toEqual({ type: 'request', code: 'invalid_data', message: 'Failed validate request data' })
    expect(alone.body._meta.fields).toContainEqual({ name: `events[0].${name}`, messages: expect.arrayContaining([message]) })
    const beside = await send(user, [one({ event_id: 'good' }), { ...one(), ...fault }])
    expect([beside.status, beside.body.created, beside.body.rejected]).toEqual([200, 1, 1])
    expect(beside.body.results[1]).toMatchObject({ index: 1, status: 'rejected', error: { code: 'invalid_data' } })
    expect(await stored(user)).toHaveLength(1)
  })

  test.each([
    [{}, 'events', 'is required'],
    [{ events: null }, 'events', 'is required'],
    [{ events: {} }, 'events', 'must be array'],
    [{ events: [] }, 'events', 'must have at least 1 item'],
    [{ events: Array(101).fill(one()) }, 'events', 'must have at most 100 items'],
    [{ events: [7] }, 'events[0]', 'must be object'],
    [{ events: [null] }, 'events[0]', 'must be object'],
  ])('the batch %#', async (body, name, message) => {
    const answer = await v3('POST', `/v3/users/${await newUser()}/events`, { body })
    expect([answer.status, answer.body]).toEqual([
      400,
      v3Error(api, 'request', 'invalid_data', 'Failed validate request data', [{ name, messages: [message] }]),
    ])
  })

  test('an unknown user; the shape comes before', async () => {
    const answer = await send('nobody', [one()])
    expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
    expect((await send('nobody', [])).status).toBe(400)
  })
})

describe('an event of a subscription that an app tells', () => {
  const call = (method: string, path: string, options: object = {}) => api.call(method, path, { ...sandbox(), ...options })
  const sales = async () => {
    const query = 'from=1769904000&to=1772323200&unit=month'
    const { series } = await must(call, 'GET', `/v4/analytics/charts/sales?${query}`)
    expect(series.length).toBeGreaterThan(0)
    return JSON.stringify(series)
  }
  const rowsOf = async (table: string, user: string) =>
    (await api.pool.query(`select 1 from ${table} where environment = $1 and user_id = $2`, [api.project.sandboxEnvironment, user]))
      .rowCount
  const customerOf = async (user: string) => (await must(call, 'GET', `/v4/customers/${user}`)).data

  test('is a fact of no subscription: no money, no status and no access; the transaction remains free', async () => {
    const user = await newUser()
    const before = await sales()
    const names = ['trial_started', 'subscription_started', 'in_app_purchase', 'subscription_refunded']
    const sentEvents = names.map((event_name, i) =>
      one({ event_id: `l${i}`, event_name, transaction_id: 'T-1', happened_at: 1_770_000_000 + i }),
    )
    expect((await send(user, sentEvents, { Platform: 'iOS' })).body.created).toBe(4)
    expect(await sales()).toBe(before)
    expect(await rowsOf('subscriptions', user)).toBe(0)
    expect((await v3('GET', `/v3/users/${user}/entitlements`)).body.data).toEqual([])
    expect(await customerOf(user)).toMatchObject({ netPayments: 0, customer: { status: 'none' } })
    // A server tells the same transaction: it is the first one.
    const item = {
      event_id: unique('s'),
      event_name: 'subscription_started',
      customer_uid: user,
      platform: 'iOS',
      happened_at: '2026-02-10T00:00:00Z',
      price: '5',
      currency: 'USD',
      transaction: { transaction_id: 'T-1', expires_at: '2026-03-10T00:00:00Z' },
    }
    expect(await must(call, 'POST', '/v4/events', { events: [item] })).toMatchObject({ created: 1 })
    expect(await customerOf(user)).toMatchObject({ netPayments: 5 })
    expect(await sales()).not.toBe(before)
  })
})

describe('what follows', () => {
  const call = (method: string, path: string, options: object = {}) => api.call(method, path, { ...sandbox(), ...options })
  let hooked: Hook
  beforeAll(async () => {
    hooked = await hook({ call: call as never, config: { events: ['*'] } })
  })
  afterAll(() => hooked.receiver.close())

  test('it goes to integrations and starts automations, once', async () => {
    const user = await newUser()
    const name = unique('app_event').toLowerCase().replaceAll('-', '_')
    const definition = {
      initiators: [{ uid: name, type: 'event' }],
      actions: {},
      steps: [{ id: 'mark', type: 'set_property', key: 'seen', value: 'yes' }],
    }
    await must(call as never, 'POST', '/v4/automations', { name, status: 'active', data: definition })
    for (let i = 0; i < 2; i++) await send(user, [one({ event_name: name })])
    await hooked.become('delivered')
    await must(call as never, 'POST', '/v4/test-clock/advance', { by: 'PT1S' })
    expect((await v3('GET', `/v3/users/${user}/properties`)).body).toEqual([{ key: 'seen', value: 'yes' }])
    const runs = await api.pool.query('select status from automation_runs where user_id = $1', [user])
    expect(runs.rows).toEqual([{ status: 'succeeded' }])
    const [event] = hooked.receiver.events()
    expect(event!.body).toMatchObject({ event_name: name })
    expect(hooked.receiver.events()).toHaveLength(1)
  })
})
