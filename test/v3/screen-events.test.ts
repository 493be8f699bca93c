// What users do on screens, in the log.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type V3Client, v3Client, v3Error, v3User } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi()
  v3 = v3Client(api)
})
afterAll(() => api.stop())

const newUser = () => v3User(v3, 'prod')
const send = (user: string, events: unknown) => v3('POST', `/v3/users/${user}/screen-events`, { body: { events } })
const sent = async (user: string, ...events: object[]) => {
  const answer = await send(user, events)
  expect([answer.status, answer.text]).toEqual([200, '{}'])
}
const stored = async (user: string) =>
  (
    await api.pool.query<{ name: string; screen: string | null; properties: object | null; at: string }>(
      'select name, screen_id as screen, properties, happened_at as at from events where user_id = $1 order by partition, log_offset',
      [user],
    )
  ).rows

describe('events of screens', () => {
  test('are occurrences of the log', async () => {
    const user = await newUser()
    const at = 1_772_355_600
    await sent(
      user,
      { type: 'screen_shown', screen_uid: 'scr_1', happened_at: at },
      {
        type: 'purchase_tapped',
        screen_uid: 'scr_1',
        happened_at: at + 1,
        product: 'annual',
        step: 2,
        ok: true,
        deep: {},
        list: [1],
        none: null,
      },
      { type: 'screen_closed', happened_at: at + 2, interaction: 'kept' },
      { type: 'Länge 2', happened_at: at + 3, interaction: 'replaced' },
    )
    const seconds = (s: number) => expect.stringMatching(new RegExp(`^2026-03-01T09:00:0${s}`))
    expect(await stored(user)).toEqual([
      { name: 'screen_shown', screen: 'scr_1', properties: null, at: seconds(0) },
      {
        name: 'screen_interacted',
        screen: 'scr_1',
        properties: { interaction: 'purchase_tapped', product: 'annual', step: 2, ok: true },
        at: seconds(1),
      },
      { name: 'screen_closed', screen: null, properties: { interaction: 'kept' }, at: seconds(2) },
      { name: 'screen_interacted', screen: null, properties: { interaction: 'Länge 2' }, at: seconds(3) },
    ])
  })

  test('what the log cannot keep is left out, and the event is stored', async () => {
    const user = await newUser()
    const many = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`f${i}`, i]))
    await sent(
      user,
      { type: 'x', long: 'x'.repeat(1025), ['n'.repeat(81)]: 1, nul: 'a\u0000', '\ud800': 1, '': 1, good: 'yes' },
      { type: 'y', ...many },
    )
    const [first, second] = await stored(user)
    expect(first!.properties).toEqual({ interaction: 'x', good: 'yes' })
    expect(Object.keys(second!.properties!)).toHaveLength(100)
  })

  test('an event that is equal in all fields is stored once; another time or field makes another event', async () => {
    const user = await newUser()
    const event = { type: 'tap', screen_uid: 's', happened_at: 5, deep: { a: [1] } }
    await sent(user, event, event)
    await sent(user, { deep: { a: [1] }, happened_at: 5, type: 'tap', screen_uid: 's', none: null })
    expect(await stored(user)).toHaveLength(1)
    // What is dropped counts, too.
    await sent(user, { ...event, deep: { a: [2] } }, { ...event, happened_at: 6 }, { ...event, extra: 1 }, { ...event, type: 'tap2' })
    expect(await stored(user)).toHaveLength(5)
    await sent(await newUser(), event)
    await sent(user, { ...event, happened_at: 9e15 })
    await sent(user, { ...event, happened_at: 9e15 })
    expect(await stored(user)).toHaveLength(6)
  })

  test('a faulty item is left out and named, and the others are stored; all faulty: 400', async () => {
    const user = await newUser()
    const bad = [{ type: 'tap', happened_at: 'soon' }, { screen_uid: 's' }]
    const answer = await send(user, [{ type: 'screen_shown', happened_at: 7 }, bad[0], { type: 'tap', happened_at: 8 }, bad[1]])
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        rejected: [
          { index: 1, error: { code: 'invalid_data', message: expect.stringContaining('happened_at must be integer') } },
          { index: 3, error: { code: 'invalid_data', message: expect.stringContaining('type is required') } },
        ],
      },
    ])
    expect((await stored(user)).map(({ name }) => name)).toEqual(['screen_shown', 'screen_interacted'])
    const none = await send(user, bad)
    expect([none.status, none.body._meta.fields]).toEqual([
      400,
      [
        { name: 'events[0].happened_at', messages: ['must be integer'] },
        { name: 'events[1].type', messages: ['is required'] },
      ],
    ])
    expect(await stored(user)).toHaveLength(2)
  })

  test('without a time it is a repeat within five minutes', async () => {
    const user = await newUser()
    const event = { type: 'tap', screen_uid: 's' }
    const before = (minutes: number) =>
      api.pool.query(
        `update events set happened_at = happened_at - make_interval(mins => $2),
           event_id = regexp_replace(event_id, '\\d+$', '') || (regexp_replace(event_id, '^.*:', '')::bigint - $2 / 5)
         where user_id = $1`,
        [user, minutes],
      )
    await sent(user, event, event)
    await sent(user, event)
    expect(await stored(user)).toHaveLength(1)
    // The id is that of the five minutes before; the time is still within the window or not.
    await api.pool.query(
      `update events set happened_at = happened_at - interval '4 minutes 50 seconds',
         event_id = regexp_replace(event_id, '\\d+$', '') || (regexp_replace(event_id, '^.*:', '')::bigint - 1) where user_id = $1`,
      [user],
    )
    await sent(user, event)
    expect(await stored(user)).toHaveLength(1)
    await before(5)
    await sent(user, event)
    expect(await stored(user)).toHaveLength(2)
  })

  test.each([{ happened_at: 7 }, {}])('twenty at a time are stored once: %j', async time => {
    const user = await newUser()
    const events = [
      { type: 'screen_shown', screen_uid: 's', ...time },
      { type: 'tap', ...time },
    ]
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(user, events)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(await stored(user)).toHaveLength(2)
  })

  test.each([
    [{}, 'events', 'is required'],
    [{ events: [] }, 'events', 'must have at least 1 item'],
    [{ events: Array(101).fill({ type: 'x' }) }, 'events', 'must have at most 100 items'],
    [{ events: [null] }, 'events[0]', 'must be object'],
    [{ events: [{ type: '' }] }, 'events[0].type', 'must have at least 1 character'],
    [{ events: [{ type: 'x'.repeat(101) }] }, 'events[0].type', 'must have at most 100 characters'],
    [{ events: [{ type: 7 }] }, 'events[0].type', 'must be string'],
    [{ events: [{ type: 'x', happened_at: '5' }] }, 'events[0].happened_at', 'must be integer'],
    [{ events: [{ type: 'x', screen_uid: 5 }] }, 'events[0].screen_uid', 'must be string'],
  ])('%#: what is refused', async (body, name, message) => {
    const user = await newUser()
    const answer = await v3('POST', `/v3/users/${user}/screen-events`, { body })
    const fields = [{ name, messages: [message] }]
    expect([answer.status, answer.body]).toEqual([400, v3Error(api, 'request', 'invalid_data', 'Failed validate request data', fields)])
    expect(await stored(user)).toEqual([])
  })

  test('an unknown user', async () => {
    const answer = await send('nobody', [{ type: 'x' }])
    expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
  })
})
