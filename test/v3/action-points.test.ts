// The screens that automations want shown.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { must, post } from '../harness/integrations.ts'
import { unique } from '../harness/resource-makers.ts'
import { type V3Client, v3Client, v3Error, v3User } from '../harness/v3.ts'

let api: TestApi
let v3: V3Client
beforeAll(async () => {
  api = await startApi({ worker: true, leaseMs: 30_000 })
  v3 = v3Client(api)
})
afterAll(() => api.stop())

const newUser = () => v3User(v3, 'prod')
/** Events of screens. */
const say = async (user: string, ...events: object[]) => {
  const answer = await v3('POST', `/v3/users/${user}/screen-events`, { body: { events } })
  expect([answer.status, answer.text]).toEqual([200, '{}'])
}

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
    await say(
      user,
      { type: 'screen_closed', screen_uid: screen },
      { type: 'screen_shown', screen_uid: 'scr_other' },
      { type: 'screen_shown' },
    )
    expect(await points(user)).toHaveLength(2)
    await say(other, { type: 'screen_shown', screen_uid: screen })
    expect(await points(user)).toHaveLength(2)
    await say(user, { type: 'screen_shown', screen_uid: screen, happened_at: 1_772_355_600 })
    expect(await points(user, '?active=1&type=screen_view')).toEqual([second])
    const all = await points(user, '?active=0')
    expect(all).toEqual([{ ...first, data: { ...first.data, shown: expect.any(Number) } }, second])
    expect(Math.abs(all[0].data.shown - Date.now() / 1000)).toBeLessThan(60)

    // A repeat of what was shown before does not show what waits since then.
    await trigger(user, event)
    await waiting(user, 2)
    await say(user, { type: 'screen_shown', screen_uid: screen, happened_at: 1_772_355_600 })
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
    await say(user, { type: 'screen_shown', screen_uid: screen })
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
