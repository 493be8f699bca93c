import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { backtest } from '../../domain/automations/backtest/backtest.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { rowsOf } from '../harness/rows.ts'
import { type Ground, ground, LONG, on } from './ground.ts'

let api: TestApi
let g: Ground
let from: string
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  g = await ground(api)
  from = await now()
})

const now = async (): Promise<string> =>
  (await api.pool.query('select environment_now($1)::text as now', [g.environment])).rows[0].now.replace(' ', 'T').replace('+00', 'Z')
const HOUR = 3600
const DAY = 24 * HOUR

/** What would have happened from the beginning of the test until now. */
async function played(data: object) {
  const { id } = await g.automation({}, 'inactive')
  const body = { from, to: await now(), data: { initiators: on('go'), steps: LONG, ...data } }
  const answer = await g.call('POST', `/v4/automations/${id}/backtest`, { body })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body
}
const steps = (...list: object[]) => ({ steps: list })
const wait = (timeout: string, more: object = {}) => ({ id: 'w', type: 'wait_for_event', event: 'back', timeout, ...more })
const exit = (id: string) => ({ id, type: 'exit' })
const mark = (id: string) => ({ id, type: 'set_property', key: 'k', value: 'v' })

describe('a backtest', () => {
  test('tells what was looked at, what would have started and what would have been skipped', async () => {
    const [ada, bob] = [await g.user(), await g.user()]
    const go = (customer_uid: string, platform: string) => ({ event_name: 'go', customer_uid, platform })
    await g.tell([go(ada, 'iOS'), go(bob, 'Android'), go(ada, 'iOS'), { event_name: 'go' }, { event_name: 'other', customer_uid: ada }])
    await g.tell([go(ada, 'iOS')], false)
    const { id } = await g.automation({ platform: 'iOS' }, 'paused')
    const to = await now()
    const answer = await g.call('POST', `/v4/automations/${id}/backtest`, { body: { from, to } })
    const none = { no_user: 0, automation_paused: 0, platform_mismatch: 0, segment_mismatch: 0, already_running: 0, frequency_capped: 0 }
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        object: 'automation_backtest',
        url: `/v4/automations/${id}/backtest`,
        from: `${from.slice(0, 19)}Z`,
        to: `${to.slice(0, 19)}Z`,
        events: 4,
        runs_started: 2,
        users: 1,
        skipped: { ...none, no_user: 1, platform_mismatch: 1 },
        steps: { long: 2 },
      },
    ])
  })

  test('looks at the window alone, and takes no earlier run into account', async () => {
    const user = await g.user()
    const go = async () => g.tell([{ event_name: 'go', customer_uid: user }])
    await go()
    await g.advance(HOUR)
    from = await now()
    await go()
    expect(await played({ reentry: false, frequency: { max_runs_per_user: 1, per: 'day' } })).toMatchObject({ events: 1, runs_started: 1 })
  })

  test('changes nothing', async () => {
    const user = await g.user()
    const { id } = await g.automation()
    await g.tell([{ event_name: 'go', customer_uid: user }])
    const before = await rowsOf(api.pool, g.environment)
    await g.call('POST', `/v4/automations/${id}/backtest`, { body: { from, to: await now() } })
    expect(await rowsOf(api.pool, g.environment)).toEqual(before)
  })

  test.each([
    ['to', { to: '2026-01-01T00:00:00Z' }],
    ['to', { to: '2027-01-02T00:00:01Z' }],
    ['data.steps[0].duration', { data: { initiators: on('go'), steps: [{ id: 'x', type: 'delay', duration: 'P2Y' }] } }],
  ])('refuses what is wrong with %s: %j', async (field, body) => {
    const { id } = await g.automation()
    const whole = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', ...body }
    const answer = await g.call('POST', `/v4/automations/${id}/backtest`, { body: whole })
    expect([answer.status, answer.body.error.details[0].field]).toEqual([400, field])
  })

  test('does not find data that names nothing, and no automation that there is not', async () => {
    const { id } = await g.automation()
    const window = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
    const data = { initiators: on('go'), actions: { screen: 'scr_nowhere' } }
    expect((await g.call('POST', `/v4/automations/${id}/backtest`, { body: { ...window, data } })).status).toBe(404)
    expect((await g.call('POST', '/v4/automations/auto_nowhere/backtest', { body: window })).status).toBe(404)
  })

  test('that takes too long is given up', async () => {
    const user = await g.user()
    const { data } = await g.automation()
    await g.tell([{ event_name: 'go', customer_uid: user }])
    const given = backtest(api.pool, g.environment, data, { from, to: await now() }, { limitMs: 0 })
    await expect(given).rejects.toMatchObject({ code: 'upstream_timeout' })
  })
})

describe('played out on the log', () => {
  test('a wait for an event ends by it or at its deadline, also after the window; one that is not over goes no further', async () => {
    const [ada, bob, cem, dan] = [await g.user(), await g.user(), await g.user(), await g.user()]
    const tell = (event_name: string, ...users: string[]) => g.tell(users.map(customer_uid => ({ event_name, customer_uid })))
    await tell('back', ada)
    await tell('go', ada, bob, cem)
    const to = await now()
    await g.advance(DAY)
    await tell('back', ada)
    await tell('back', ada)
    await g.tell([{ event_name: 'back', customer_uid: bob }], false)
    await g.advance(DAY)
    await tell('back', bob, cem)
    await tell('go', dan)
    await g.advance(HOUR)
    const data = steps(wait('P2D', { on_timeout: [mark('late')] }), mark('then'))
    const { id } = await g.automation(data, 'inactive')
    const answer = await g.call('POST', `/v4/automations/${id}/backtest`, { body: { from, to } })
    expect(answer.body).toMatchObject({ events: 3, runs_started: 3, steps: { w: 3, late: 2, then: 3 } })
    expect(await played(data)).toMatchObject({ events: 4, runs_started: 4, steps: { w: 4, late: 2, then: 3 } })
  })

  test('a wait begins where the last one ended: an event is met once, one that came during a delay not at all', async () => {
    const user = await g.user()
    const back = { event_name: 'back', customer_uid: user }
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.advance(HOUR)
    await g.tell([back])
    await g.advance(DAY)
    await g.tell([back])
    await g.advance(20 * DAY)
    const twice = steps(wait('P2D'), wait('P2D', { id: 'v', on_timeout: [mark('late')] }))
    expect((await played(twice)).steps).toEqual({ w: 1, v: 1, late: 0 })
    const thrice = steps(wait('P2D'), wait('P2D', { id: 'v' }), wait('P2D', { id: 'u', on_timeout: [mark('late')] }))
    expect((await played(thrice)).steps).toMatchObject({ u: 1, late: 1 })
    const delayed = steps({ id: 'd', type: 'delay', duration: 'PT2H' }, wait('PT2H', { on_timeout: [mark('late')] }))
    expect((await played(delayed)).steps).toEqual({ d: 1, w: 1, late: 1 })
  })

  test('without reentry a run may start when the one before has come to its end, and not before', async () => {
    const user = await g.user()
    const go = { event_name: 'go', customer_uid: user }
    const back = { event_name: 'back', customer_uid: user }
    await g.tell([go, go, back, go])
    await g.advance(2 * HOUR)
    await g.tell([go])
    await g.advance(40 * DAY)
    // Ended by its event: the third starts. That one waits until the deadline, so the fourth does not.
    const outcome = await played({ reentry: false, ...steps(wait('P1D')) })
    expect([outcome.runs_started, outcome.skipped.already_running]).toEqual([2, 2])
    const delayed = await played({ reentry: false, ...steps({ id: 'd', type: 'delay', duration: 'PT1H' }) })
    expect([delayed.runs_started, delayed.skipped.already_running]).toEqual([2, 2])
    // What is done at once is over before the next event.
    expect((await played({ reentry: false, ...steps(mark('m')) })).runs_started).toBe(4)
    expect((await played({ ...steps(wait('P1D')) })).runs_started).toBe(4)
  })

  test('a frequency counts the runs in its window', async () => {
    const user = await g.user()
    for (let n = 0; n < 6; n++) {
      await g.tell([{ event_name: 'go', customer_uid: user }])
      await g.advance(20 * 60)
    }
    const outcome = await played({ frequency: { max_runs_per_user: 2, per: 'hour' } })
    // At 0 and 20 minutes, then again when an hour has passed since: at 60 and 80.
    expect([outcome.runs_started, outcome.skipped.frequency_capped]).toEqual([4, 2])
    expect((await played({ frequency: { max_runs_per_user: 5, per: 'lifetime' } })).runs_started).toBe(5)
  })

  test('a branch asks the event, the steps before it, and the user as now', async () => {
    const [ada, bob] = [await g.user(), await g.user()]
    const go = (customer_uid: string, price: string) => ({ event_name: 'go', customer_uid, price, currency: 'USD' })
    await g.tell([go(ada, '5.00'), go(bob, '5.00'), go(bob, '50.00')])
    await g.advance(HOUR)
    await g.tell([{ event_name: 'back', customer_uid: ada, device: { country: 'DE' } }])
    await g.advance(2 * DAY)
    const branch = (id: string, ...conditions: object[]) => ({
      id,
      type: 'branch',
      conditions,
      then: [exit(`${id}-then`)],
      else: [mark(`${id}-else`)],
    })
    const condition = (metric: string, comparator: string, value: string) => ({ metric, comparator, value })
    const outcome = await played(
      steps(
        wait('P1D'),
        branch('a', condition('event:price', 'gt', '10')),
        branch('b', condition('step:w', 'eq', 'event'), condition('country', 'eq', 'FR')),
        branch('c', condition('step:b', 'eq', 'else'), condition('country', 'eq', 'DE')),
        branch('d'),
      ),
    )
    expect(outcome.steps).toEqual({
      w: 3,
      a: 3,
      'a-then': 1,
      'a-else': 2,
      b: 2,
      'b-then': 0,
      'b-else': 2,
      c: 2,
      'c-then': 1,
      'c-else': 1,
      d: 1,
      'd-then': 1,
      'd-else': 0,
    })
  })

  test('actions are steps by their names', async () => {
    const user = await g.user()
    const screen = await g.screen()
    await g.tell([{ event_name: 'go', customer_uid: user }])
    const { id } = await g.automation({ steps: undefined, actions: { screen } }, 'inactive')
    const { body } = await g.call('POST', `/v4/automations/${id}/backtest`, { body: { from, to: await now() } })
    expect(body.steps).toEqual({ screen: 1 })
  })
})
