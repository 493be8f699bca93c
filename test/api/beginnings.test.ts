import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callsOf } from '../analytics/figures/answer-difference.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { growth } from '../harness/experiments.ts'
import { product, purchaseOf, userOf } from '../harness/purchases.ts'
import { type V3Client, v3Client, v3User } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi({ replica: true })
  v3 = v3Client(api)
  await product(api, { id: 'monthly', stripe_product_id: 'm', apple_product_id: 'm' })
})
afterAll(() => api.stop())

// Of one moment: times of two calls can be compared.
const START = Date.now()
const ago = (days: number) => `${new Date(START - days * 86_400_000).toISOString().slice(0, 19)}Z`
const began = async (user: string): Promise<string> => (await api.call('GET', `/v4/users/${user}`)).body.created_at
const opened = (happened_at: string, who: Record<string, unknown>) =>
  item({ event_name: 'app_opened', happened_at, price: undefined, currency: undefined, ...who })
const post = (events: unknown[], trigger?: unknown) => api.call('POST', '/v4/events', { body: { events, trigger } })
const history = (user: string, ...times: string[]) =>
  post(
    times.map(at => opened(at, { customer_uid: user })),
    false,
  )
const bought = (user: string, days: number, more: object = {}) => {
  const subscription_id = `sub_${crypto.randomUUID()}`
  const times = { purchased_at: ago(days), expires_at: ago(days - 30) }
  return purchaseOf(api, user, { ...times, stripe_store_data: { subscription_id, product_id: 'm' }, ...more })
}
const isRecent = (time: string) => Date.now() - Date.parse(time) < 60_000

describe('a user who is created with a beginning', () => {
  test('has it everywhere, and was last seen then', async () => {
    const { status, body } = await api.call('POST', '/v4/users', { body: { environment: 'prod', created_at: '2025-03-01T10:00:00+01:00' } })
    expect([status, body.created_at]).toEqual([201, '2025-03-01T09:00:00Z'])
    const { customer } = (await api.call('GET', `/v4/customers/${body.id}`)).body.data
    expect([customer.since, customer.last_seen]).toEqual(['2025-03-01T09:00:00Z', '2025-03-01T09:00:00Z'])
    expect((await v3('GET', `/v3/users/${body.id}`)).body.created).toBe(Date.parse('2025-03-01T09:00:00Z') / 1000)
  })

  test('cannot begin in the future', async () => {
    const { status, body } = await api.call('POST', '/v4/users', { body: { environment: 'prod', created_at: ago(-1) } })
    expect([status, body.error.code]).toEqual([400, 'invalid_data'])
    expect(body.error.details).toEqual([{ field: 'created_at', message: 'must not lie in the future' }])
  })
})

describe('events that are history', () => {
  test('move the beginning of their user back to the earliest, in any order and batch', async () => {
    const user = await userOf(api)
    await history(user, ago(30), ago(50), ago(40))
    expect(await began(user)).toBe(ago(50))
    await history(user, ago(20))
    expect(await began(user)).toBe(ago(50))
    await history(user, ago(60))
    expect(await began(user)).toBe(ago(60))
  })

  test('by their age are history, too; young ones that act are not', async () => {
    const [old, young] = [await userOf(api), await userOf(api)]
    await post([opened(ago(4), { customer_uid: old })], true)
    expect(await began(old)).toBe(ago(4))
    await post([opened(ago(2), { customer_uid: young })], true)
    expect(isRecent(await began(young))).toBe(true)
  })

  test('make users who began with them and were seen last with the last of them', async () => {
    await post([opened(ago(30), { identity_id: 'gone' }), opened(ago(50), { identity_id: 'gone' })], false)
    const { rows } = await api.pool.query(`select id, last_seen_at from users where identity_id = 'gone'`)
    expect([await began(rows[0].id), rows[0].last_seen_at]).toEqual([ago(50), ago(30)])
  })

  test('count before what acts in the same batch, and not in later ones', async () => {
    const user = await userOf(api)
    const who = [{ customer_uid: user }, { identity_id: 'both' }]
    await post(
      who.flatMap(one => [opened(ago(1), one), opened(ago(30), one)]),
      true,
    )
    const { rows } = await api.pool.query(`select id from users where identity_id = 'both'`)
    const both = async () => [await began(user), await began(rows[0].id)]
    expect(await both()).toEqual([ago(30), ago(30)])
    await post(
      who.map(one => opened(ago(40), one)),
      false,
    )
    expect(await both()).toEqual([ago(30), ago(30)])
  })

  test('move nobody whom the service knew before it noted who was seen', async () => {
    const user = await userOf(api)
    await api.pool.query('update users set is_seen_live = null where id = $1', [user])
    await history(user, ago(30))
    expect(isRecent(await began(user))).toBe(true)
  })

  test('may state when their user began', async () => {
    const stated = (created_at: string, who: object) => ({ ...opened(ago(30), {}), created_at, ...who })
    const answer = await post(
      [stated(ago(90), { identity_id: 'stated' }), stated(ago(-1), { identity_id: 'stated' }), stated(ago(90), {})],
      false,
    )
    expect(answer.body.results.map(({ error }: { error: { details: unknown } | null }) => error?.details)).toEqual([
      undefined,
      [{ field: 'created_at', message: 'must not lie in the future' }],
      [{ field: 'created_at', message: 'is not allowed without customer_uid or identity_id' }],
    ])
    const { rows } = await api.pool.query(`select id from users where identity_id = 'stated'`)
    expect(await began(rows[0].id)).toBe(ago(90))
    await post([stated(ago(100), { identity_id: 'stated' })], false)
    expect(await began(rows[0].id)).toBe(ago(100))
  })
})

describe('history moves nobody any more who was shown by', () => {
  const stays = async (user: string) => {
    await history(user, ago(30))
    await bought(user, 40, { trigger: false })
    expect(isRecent(await began(user))).toBe(true)
  }

  test('an event that acts', async () => {
    const [young, always] = [await userOf(api), await userOf(api)]
    await post([opened(ago(1), { customer_uid: young })], true)
    await stays(young)
    await post([opened(ago(10), { customer_uid: always })], 'always')
    await stays(always)
  })

  test('a purchase that acts', async () => {
    const user = await userOf(api)
    expect((await bought(user, 1)).status).toBe(201)
    await stays(user)
  })

  test('an app: at its creation, in a request, by an evaluation', async () => {
    await stays(await v3User(v3, 'prod'))
    const [queried, served] = [await userOf(api), await userOf(api)]
    await v3('GET', `/v3/users/${queried}`)
    await stays(queried)
    await growth(api, api.project.secret).evaluate(served)
    await stays(served)
  })
})

describe('purchases that are history', () => {
  test('move the beginning of their user back, as a backfill and by their age', async () => {
    const [backfilled, old] = [await userOf(api), await userOf(api)]
    await bought(backfilled, 2, { trigger: false })
    expect(await began(backfilled)).toBe(ago(2))
    await bought(old, 40)
    await bought(old, 70)
    expect(await began(old)).toBe(ago(70))
  })

  test('do not when somebody else pays, or when they come from another user', async () => {
    const [guest, giver, taker] = [await userOf(api), await userOf(api), await userOf(api)]
    const shared = { app_store_data: { transaction_id: 'family', product_id: 'm' }, stripe_store_data: undefined, is_family_shared: true }
    expect((await bought(guest, 40, { ...shared, trigger: false })).status).toBe(201)
    expect(isRecent(await began(guest))).toBe(true)
    await api.pool.query(`update projects set transfer_policy = 'transfer' where id = $1`, [api.project.id])
    const passed = { app_store_data: { transaction_id: 'passed', product_id: 'm' }, stripe_store_data: undefined, trigger: false }
    await bought(giver, 40, passed)
    expect((await bought(taker, 40, passed)).status).toBe(201)
    expect([await began(giver), isRecent(await began(taker))]).toEqual([ago(40), true])
  })
})

test('charts and segments show new users when their history begins, also of users whom they have shown on another day', async () => {
  const project = await api.newProject()
  const key = project.secret
  const day = (n: number) => Math.floor(START / 86_400_000) * 86_400 - n * 86_400
  const newUsers = (more = '') =>
    Promise.all(
      callsOf(api).map(async ({ driver, call }) => {
        const query = `from=${day(40)}&to=${day(-1)}&unit=day&fresh=true${more}`
        const { body } = await call('GET', `/v4/analytics/charts/users-overview?${query}`, { key })
        const data = body.series[0].data.filter(({ value }: { value: number }) => value > 0)
        return { driver, data: data.map(({ start_time, value }: { start_time: number; value: number }) => [start_time, value]) }
      }),
    )
  const both = (data: [number, number][]) => callsOf(api).map(({ driver }) => ({ driver, data }))
  const at = (n: number) => new Date((day(n) + 3_600) * 1000).toISOString()
  const { id } = (await api.call('POST', '/v4/users', { key, body: { environment: 'prod', created_at: at(1) } })).body
  expect(await newUsers()).toEqual(both([[day(1), 1]]))
  const conditions = [{ metric: 'install_date', comparator: 'lt', value: at(25) }]
  const segment = (await api.call('POST', '/v4/segments', { key, body: { name: 'Of old', conditions } })).body.id
  const old = `&filter[segment_id][]=${segment}`
  expect(await newUsers(old)).toEqual(both([]))
  const events = [opened(at(10), { customer_uid: id }), opened(at(30), { customer_uid: id }), opened(at(20), { identity_id: 'second' })]
  await api.call('POST', '/v4/events', { key, body: { events, trigger: false } })
  expect(await newUsers()).toEqual(
    both([
      [day(30), 1],
      [day(20), 1],
    ]),
  )
  expect(await newUsers(old)).toEqual(both([[day(30), 1]]))
})
