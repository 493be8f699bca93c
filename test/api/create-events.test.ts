import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const post = (events: unknown, extra: object = {}, key?: string) =>
  api.call('POST', '/v4/events', { body: { events, ...extra }, ...(key && { key }) })
const stored = async (environment = api.project.production) =>
  (await api.pool.query<Record<string, unknown>>('select * from events where environment = $1', [environment])).rows
const find = async (eventId: string) => (await stored()).find(row => row.event_id === eventId)

test('last_seen moves to the latest happened_at of the posted events, never back and never beyond now', async () => {
  const user = (await api.call('POST', '/v4/users', { body: { environment: 'prod' } })).body.id
  await api.pool.query(`update users set created_at = '2026-01-01', last_seen_at = '2026-01-01' where id = $1`, [user])
  const seen = async () => (await api.call('GET', `/v4/customers/${user}`)).body.data.customer.last_seen
  const opened = (happened_at: string) => ({
    ...item({ customer_uid: user, event_name: 'app_opened', happened_at }),
    price: undefined,
    currency: undefined,
  })
  await post([opened('2026-02-03T10:00:00Z'), opened('2026-02-01T10:00:00Z')])
  expect(await seen()).toBe('2026-02-03T10:00:00Z')
  await post([opened('2026-02-02T10:00:00Z')], { trigger: false })
  expect(await seen()).toBe('2026-02-03T10:00:00Z')
  const before = Date.now()
  await post([opened(new Date(before + 200_000).toISOString())])
  expect(Date.parse(await seen())).toBeGreaterThanOrEqual(Math.floor(before / 1000) * 1000)
  expect(Date.parse(await seen())).toBeLessThanOrEqual(Date.now())
  const repeated = await post([{ ...opened('2026-02-04T10:00:00Z'), customer_uid: undefined, identity_id: 'seen-now' }])
  expect(repeated.body.created).toBe(1)
  const { rows } = await api.pool.query(`select last_seen_at >= created_at as ok from users where identity_id = 'seen-now'`)
  expect(rows).toEqual([{ ok: true }])
})

describe('a batch', () => {
  test('events older than 72 hours start nothing, are counted, and act with "always"', async () => {
    const ago = (hours: number) => item({ happened_at: new Date(Date.now() - hours * 3_600_000).toISOString() })
    const batch = async (trigger: unknown) => {
      const [old, young] = [ago(72.1), ago(71.9)]
      const { body } = await post([old, young, { ...old }], { trigger })
      const triggers = async ({ event_id }: Record<string, unknown>) => (await find(String(event_id)))!.triggers
      return [body.created, body.duplicates, body.not_triggered, await triggers(old), await triggers(young)]
    }
    expect(await batch(true)).toEqual([2, 1, 1, false, true])
    expect(await batch(undefined)).toEqual([2, 1, 1, false, true])
    expect(await batch(false)).toEqual([2, 1, 2, false, false])
    expect(await batch('always')).toEqual([2, 1, 0, true, true])
    expect((await post([ago(1)], { trigger: 'never' })).body.error.details).toEqual([
      { field: 'trigger', message: 'must be one of true, false, always' },
    ])
  })

  test('valid items are stored, invalid ones are returned with the reason, and the counts add up', async () => {
    const [good, late] = [item(), item({ happened_at: '9999-01-01T00:00:00Z' })]
    const answer = await post([
      good,
      late,
      { event_name: 'in_app_purchase', happened_at: '2026-03-01T12:00:00Z' },
      item({ customer_uid: 'QON_nobody' }),
    ])
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ object: 'event_batch', url: '/v4/events', created: 1, duplicates: 0, rejected: 3 })
    expect(answer.body.results.map((r: { status: string; index: number }) => [r.index, r.status])).toEqual([
      [0, 'created'],
      [1, 'rejected'],
      [2, 'rejected'],
      [3, 'rejected'],
    ])
    expect(answer.body.results[0]).toMatchObject({ event_id: good.event_id, id: expect.stringMatching(/^evt_[0-9a-z]{20}$/), error: null })
    expect(answer.body.results[1].error).toMatchObject({ code: 'invalid_data', details: [{ field: 'happened_at' }] })
    expect(answer.body.results[2]).toMatchObject({ event_id: null, id: null, error: { details: [{ field: 'event_id' }] } })
    expect(answer.body.results[3].error.code).toBe('not_found')
  })

  test('when every item is rejected: 400 with fields, nothing stored', async () => {
    const before = (await stored()).length
    const answer = await post([item({ happened_at: 'yesterday' }), item({ event_name: '!' })])
    expect(answer.status).toBe(400)
    expect(answer.body.error.code).toBe('invalid_data')
    expect(answer.body.error.details.map((d: { field: string }) => d.field)).toEqual(['events[0].happened_at', 'events[1].event_name'])
    expect((await stored()).length).toBe(before)
  })

  test.each([
    ['no array', 'x', 'events'],
    ['empty', [], 'events'],
    ['1,001 items', Array.from({ length: 1001 }, () => ({})), 'events'],
    ['an item that is no object', [item(), 7], 'events[1]'],
  ])('%s: 400 on the field', async (_name, events, field) => {
    const answer = await post(events)
    expect(answer.status).toBe(400)
    expect(answer.body.error.details[0].field).toBe(field)
  })

  test('a body over 8 MiB is 413; a body just below is validated', async () => {
    const filler = (bytes: number) => JSON.stringify({ events: [item({ event_id: 'x'.repeat(bytes) })] })
    const over = await api.call('POST', '/v4/events', { raw: filler(8 * 1024 * 1024) })
    expect(over.status).toBe(413)
    expect(over.body.error.code).toBe('invalid_request')
    expect((await api.call('POST', '/v4/events', { raw: filler(8 * 1024 * 1024 - 500) })).status).toBe(400)
  })
})

describe('repeats', () => {
  test('the same batch again, and the same item twice in a batch, are duplicates', async () => {
    const events = [item(), item()]
    const first = await post([...events, events[0]])
    expect(first.body).toMatchObject({ created: 2, duplicates: 1 })
    expect(first.body.results[2].id).toBe(first.body.results[0].id)
    const again = await post(events)
    expect(again.body).toMatchObject({ created: 0, duplicates: 2 })
    expect(again.body.results.map((r: { id: string }) => r.id)).toEqual(first.body.results.slice(0, 2).map((r: { id: string }) => r.id))
  })

  test.each([
    ['name', { event_name: 'in_app_refunded' }],
    ['user', { identity_id: 'someone-else' }],
    ['time', { happened_at: '2026-03-01T12:00:00.000001Z' }],
  ])('the same id with another %s is a conflict and changes nothing', async (_name, change) => {
    const first = item()
    await post([first])
    const answer = await post([{ ...first, ...change }, item()])
    expect(answer.body.results[0].error.code).toBe('idempotency_conflict')
    expect(answer.body.created).toBe(1)
    expect((await api.call('GET', '/v4/identities/someone-else')).status).toBe(404)
  })

  test('a store transaction has one start event, even with several event ids', async () => {
    const begin = (fields: object) => item({ platform: 'iOS', transaction: { transaction_id: 't-1' }, ...fields })
    expect((await post([begin({}), begin({ event_name: 'subscription_started' })])).body).toMatchObject({ created: 1, duplicates: 1 })
    expect((await post([begin({ event_name: 'subscription_renewed' })])).body.duplicates).toBe(1)
    expect((await post([begin({ platform: 'Android' }), begin({ event_name: 'subscription_refunded' })])).body.created).toBe(2)
  })

  test('ten concurrent posts of one batch store it once, and every response has the same ids', async () => {
    const events = Array.from({ length: 50 }, (_, i) => item({ identity_id: `racer-${i % 7}` }))
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(events)))
    expect(answers.map(answer => answer.status)).toEqual(answers.map(() => 200))
    expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(50)
    const ids = answers.map(({ body }) => body.results.map((r: { id: string }) => r.id).join())
    expect(new Set(ids).size).toBe(1)
  })
})

describe('users', () => {
  test('an unknown identity creates one user for the whole batch; a known one is used', async () => {
    const events = [item({ identity_id: 'walter' }), item({ identity_id: 'walter' })]
    await post(events)
    const { user_id } = (await api.call('GET', '/v4/identities/walter')).body
    await post([item({ identity_id: 'walter' }), item({ customer_uid: user_id })])
    expect((await stored()).filter(row => row.user_id === user_id)).toHaveLength(4)
  })

  test('customer_uid and identity_id together are refused', async () => {
    const answer = await post([item({ identity_id: 'walter', customer_uid: 'x' }), item()])
    expect(answer.body.results[0].error.details[0].field).toBe('identity_id')
  })

  test('the platform defaults to the last known one of the user, and an older event only fills gaps', async () => {
    const of = (fields: object) => item({ identity_id: 'paula', ...fields })
    const last = of({ happened_at: '2026-03-05T00:00:00Z' })
    await post([
      of({ platform: 'iOS', device: { model: 'new' }, attribution: { campaign: 'second' }, happened_at: '2026-03-03T00:00:00Z' }),
      of({
        platform: 'Android',
        device: { model: 'old', locale: 'de' },
        attribution: { campaign: 'first' },
        happened_at: '2026-03-01T00:00:00Z',
      }),
    ])
    await post([last])
    expect(await find(last.event_id as string)).toMatchObject({ platform: 'iOS' })
    const { rows } = await api.pool.query(`select platform, device_model, locale, campaign from users where identity_id = 'paula'`)
    expect(rows[0]).toEqual({ platform: 'iOS', device_model: 'new', locale: 'de', campaign: 'first' })
  })
})

describe('values', () => {
  test.each([
    ['price on an event without value', { event_name: 'trial_started' }, 'price'],
    ['negative price of a purchase', { price: '-1' }, 'price'],
    ['price without currency', { currency: undefined }, 'currency'],
    ['currency without price', { price: undefined }, 'currency'],
    ['unknown currency', { currency: 'XYZ' }, 'currency'],
    ['price with seven places', { price: '1.1234567' }, 'price'],
    ['NUL in a string', { product_id: 'a\0b' }, 'product_id'],
    ['lone surrogate in a property', { properties: { note: '\ud800' } }, 'properties.note'],
    ['unknown field', { nonsense: 1 }, 'nonsense'],
    ['number where a string belongs', { product_id: 1 }, 'product_id'],
  ])('%s is refused with its field, and the next item is stored', async (_name, change, field) => {
    const answer = await post([{ ...item(), ...change }, item()])
    expect(answer.body).toMatchObject({ created: 1, rejected: 1 })
    expect(answer.body.results[0].error.details[0].field).toBe(field)
  })

  test('refunds are stored negative, currencies in upper case, proceeds by the platform', async () => {
    const refund = item({ event_name: 'subscription_refunded', price: '10', currency: 'usd', platform: 'iOS' })
    const sale = item({ event_name: 'subscription_renewed', price: '10.005', currency: 'EUR', platform: 'Android' })
    await post([refund, sale])
    expect(await find(refund.event_id as string)).toMatchObject({
      price: '-10.00',
      currency: 'USD',
      proceeds: '-7.00',
      price_usd: '-10.00',
      proceeds_usd: '-7.00',
    })
    expect(await find(sale.event_id as string)).toMatchObject({ price: '10.005', currency: 'EUR', proceeds: '8.50425', price_usd: null })
  })

  test('quotes, backslashes, commas and braces are returned as they were sent', async () => {
    const odd = item({ product_id: 'a"b\\c,{d}', properties: { 'k"': 'v\\n"\n', n: 1.5, yes: true } })
    await post([odd])
    expect(await find(odd.event_id as string)).toMatchObject({ product_id: odd.product_id, properties: odd.properties })
  })
})

describe('the log', () => {
  test('offsets are gapless in every partition under concurrent writers with repeats and failures', async () => {
    const project = await api.newProject()
    const pool = Array.from({ length: 200 }, () => item({ identity_id: `user-${Math.floor(Math.random() * 40)}` }))
    await Promise.all(
      Array.from({ length: 16 }, () => {
        const some = Array.from({ length: 60 }, () => pool[Math.floor(Math.random() * pool.length)])
        return post([...some, item({ happened_at: 'bad' })], {}, project.secret)
      }),
    )
    const rows = await stored(project.production)
    expect(new Set(rows.map(row => row.event_id)).size).toBe(rows.length)
    const { rows: gaps } = await api.pool.query(
      `select p.partition from log_positions p left join events e on e.environment = p.environment and e.partition = p.partition
       where p.environment = $1 group by p.partition, p.next_offset
       having count(e.id) <> p.next_offset or coalesce(max(e.log_offset) + 1, 0) <> p.next_offset or coalesce(min(e.log_offset), 0) <> 0`,
      [project.production],
    )
    expect(gaps).toEqual([])
  })

  test('all events of one user are in one partition, in the order in which they were posted', async () => {
    const events = Array.from({ length: 20 }, (_, i) => item({ identity_id: 'ordered', properties: { n: i } }))
    for (let i = 0; i < 20; i += 5) await post(events.slice(i, i + 5))
    const { rows } = await api.pool.query(
      `select distinct on (e.log_offset) e.partition, e.properties ->> 'n' as n from events e join users u on u.id = e.user_id
       where u.identity_id = 'ordered' order by e.log_offset`,
    )
    expect(new Set(rows.map(row => row.partition)).size).toBe(1)
    expect(rows.map(row => Number(row.n))).toEqual(events.map((_, i) => i))
  })

  test('the sandbox has no events of production', async () => {
    await post([item()])
    expect((await api.call('GET', '/v4/events', { key: api.project.sandbox })).body.data).toEqual([])
  })
})
