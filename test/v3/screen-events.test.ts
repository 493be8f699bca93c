// What users do on screens, and the screens that automations want shown.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { must, post } from '../harness/integrations.ts'
import { unique } from '../harness/resource-makers.ts'
import { type V3Client, v3Client, v3Error } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 30_000 })
  v3 = v3Client(api)
})
afterAll(() => api.stop())

const newUser = async () => {
  const id = unique('QON_')
  expect((await v3('POST', `/v3/users/${id}`, { body: { environment: 'prod' } })).status).toBe(201)
  return id
}
const send = (user: string, events: unknown, headers: Record<string, string> = {}) =>
  v3('POST', `/v3/users/${user}/screen-events`, { body: { events }, headers })
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
    [{ events: [{ type: 'x' }, {}] }, 'events[1].type', 'is required'],
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

describe('screens that automations want shown', () => {
  const call: Client = (method, path, options) => api.call(method, path, options)
  const points = async (user: string, query = '') => {
    const answer = await v3('GET', `/v3/users/${user}/action-points${query}`)
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data.items
  }
  const waiting = async (user: string, count: number) =>
    expect.poll(async () => (await points(user)).length, { timeout: 30_000, interval: 50 }).toBe(count)

  /** A published screen, and an automation that shows it to whoever sends the event. */
  async function showing(contextKey: string | null) {
    const { id: screen } = await must(call, 'POST', '/v4/screens', { name: 'Offer' })
    await must(call, 'POST', `/v4/screens/${screen}/publish`)
    await api.pool.query('update screens set context_key = $2 where id = $1', [screen, contextKey])
    const event = unique('shows').toLowerCase().replaceAll('-', '_')
    const data = { initiators: [{ uid: event, type: 'event' }], actions: {}, steps: [{ id: 'show', type: 'screen', screen }] }
    const automation = await must(call, 'POST', '/v4/automations', { name: event, status: 'active', data })
    return { screen, event, automation: automation.id }
  }
  const trigger = (user: string, event: string) =>
    post(call, { identity_id: undefined, customer_uid: user, event_name: event, platform: 'iOS', price: undefined, currency: undefined })

  test('are listed until they were shown', async () => {
    const [user, other] = [await newUser(), await newUser()]
    const { screen, event, automation } = await showing('offer')
    const bare = await showing(null)
    await trigger(user, event)
    await waiting(user, 1)
    await trigger(user, bare.event)
    await waiting(user, 2)
    const [first, second] = await points(user)
    const { created, expires } = first.data
    expect(first).toEqual({
      type: 'screen_view',
      data: {
        id: expect.stringMatching(/^psc_/),
        screen,
        context_key: 'offer',
        automation_id: automation,
        run_id: expect.any(String),
        created,
        expires,
      },
    })
    expect(expires - created).toBe(30 * 86_400)
    expect(Object.keys(second.data)).not.toContain('context_key')
    expect(await points(other)).toEqual([])

    // Another type and another screen show nothing.
    await sent(
      user,
      { type: 'screen_closed', screen_uid: screen },
      { type: 'screen_shown', screen_uid: 'scr_other' },
      { type: 'screen_shown' },
    )
    expect(await points(user)).toHaveLength(2)
    await sent(other, { type: 'screen_shown', screen_uid: screen })
    expect(await points(user)).toHaveLength(2)
    await sent(user, { type: 'screen_shown', screen_uid: screen, happened_at: 1_772_355_600 })
    expect(await points(user, '?active=1&type=screen_view')).toEqual([second])
    const all = await points(user, '?active=0')
    expect(all).toEqual([{ ...first, data: { ...first.data, shown: expect.any(Number) } }, second])
    expect(Math.abs(all[0].data.shown - Date.now() / 1000)).toBeLessThan(60)

    // A repeat of what was shown before does not show what waits since then.
    await trigger(user, event)
    await waiting(user, 2)
    await sent(user, { type: 'screen_shown', screen_uid: screen, happened_at: 1_772_355_600 })
    expect(await points(user)).toHaveLength(2)
  })

  test('are left out while the screen is not published or is gone, and lapse after 30 days', async () => {
    const user = await newUser()
    const { screen, event } = await showing('offer')
    await trigger(user, event)
    await waiting(user, 1)
    const set = (text: string) => api.pool.query(text, [user])
    await api.pool.query(`update screens set status = 'draft' where id = $1`, [screen])
    expect(await points(user, '?active=0')).toEqual([])
    await api.pool.query(`update screens set status = 'published' where id = $1`, [screen])
    await set(`update pending_screens set expires_at = now() - interval '1 minute' where user_id = $1`)
    expect(await points(user)).toEqual([])
    // What has lapsed was not shown.
    await sent(user, { type: 'screen_shown', screen_uid: screen })
    const [lapsed] = await points(user, '?active=0')
    expect(lapsed.data.shown).toBeUndefined()
    await set(`update pending_screens set expires_at = now() - interval '89 days' where user_id = $1`)
    expect(await points(user, '?active=0')).toHaveLength(1)
    await set(`update pending_screens set expires_at = now() - interval '91 days' where user_id = $1`)
    expect(await points(user, '?active=0')).toEqual([])
    await set(`update pending_screens set expires_at = now() + interval '1 day' where user_id = $1`)
    await api.pool.query('delete from screens where id = $1', [screen])
    expect(await points(user)).toEqual([])
  })

  test.each([
    ['active=2', 'active', 'must be one of 1, 0'],
    ['active=yes', 'active', 'must be one of 1, 0'],
    ['type=other', 'type', 'must be screen_view'],
  ])('%s is refused', async (query, name, message) => {
    const answer = await v3('GET', `/v3/users/${await newUser()}/action-points?${query}`)
    const fields = [{ name, messages: [message] }]
    expect([answer.status, answer.body]).toEqual([400, v3Error(api, 'request', 'invalid_data', 'Failed validate request data', fields)])
  })

  test('an unknown user', async () => {
    const answer = await v3('GET', '/v3/users/nobody/action-points')
    expect([answer.status, answer.body]).toEqual([404, v3Error(api, 'resource', 'not_found', 'User not found')])
  })
})
