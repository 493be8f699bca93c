import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { drainMarks } from '../../domain/analytics/folding/drain.ts'
import { backtest } from '../../domain/automations/backtest/backtest.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { rowsOf } from '../harness/rows.ts'
import { type AutomationProject, automationProject, LONG, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
let from: string
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  fixture = await automationProject(api)
  from = await now()
})

const now = async (): Promise<string> =>
  (await api.pool.query('select environment_now($1)::text as now', [fixture.environment])).rows[0].now.replace(' ', 'T').replace('+00', 'Z')
const HOUR = 3600
const DAY = 24 * HOUR

/** The backtest of `data` from the start of the test until now. */
async function backtestOf(data: object) {
  const { id } = await fixture.automation({}, 'inactive')
  const body = { from, to: await now(), data: { initiators: on('go'), steps: LONG, ...data } }
  const answer = await fixture.call('POST', `/v4/automations/${id}/backtest`, { body })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body
}
const steps = (...list: object[]) => ({ steps: list })
const wait = (timeout: string, more: object = {}) => ({ id: 'w', type: 'wait_for_event', event: 'back', timeout, ...more })
const exit = (id: string) => ({ id, type: 'exit' })
const mark = (id: string) => ({ id, type: 'set_property', key: 'k', value: 'v' })

describe('a backtest', () => {
  test('reports the matching events, the runs that would start, and the skipped ones by reason', async () => {
    const [ada, bob] = [await fixture.user(), await fixture.user()]
    const go = (customer_uid: string, platform: string) => ({ event_name: 'go', customer_uid, platform })
    await fixture.post([
      go(ada, 'iOS'),
      go(bob, 'Android'),
      go(ada, 'iOS'),
      { event_name: 'go' },
      { event_name: 'other', customer_uid: ada },
    ])
    await fixture.post([go(ada, 'iOS')], false)
    const { id } = await fixture.automation({ platform: 'iOS' }, 'paused')
    const to = await now()
    const answer = await fixture.call('POST', `/v4/automations/${id}/backtest`, { body: { from, to } })
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

  test('reads only its window and ignores earlier runs', async () => {
    const user = await fixture.user()
    const go = async () => fixture.post([{ event_name: 'go', customer_uid: user }])
    await go()
    await fixture.advance(HOUR)
    from = await now()
    await go()
    expect(await backtestOf({ reentry: false, frequency: { max_runs_per_user: 1, per: 'day' } })).toMatchObject({
      events: 1,
      runs_started: 1,
    })
  })

  test('changes nothing', async () => {
    const user = await fixture.user()
    const { id } = await fixture.automation()
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await drainMarks(api.pool, fixture.environment, 1_000)
    const before = await rowsOf(api.pool, fixture.environment)
    await fixture.call('POST', `/v4/automations/${id}/backtest`, { body: { from, to: await now() } })
    expect(await rowsOf(api.pool, fixture.environment)).toEqual(before)
  })

  test.each([
    ['to', { to: '2026-01-01T00:00:00Z' }],
    ['to', { to: '2027-01-02T00:00:01Z' }],
    ['data.steps[0].duration', { data: { initiators: on('go'), steps: [{ id: 'x', type: 'delay', duration: 'P2Y' }] } }],
  ])('refuses invalid %s: %j', async (field, body) => {
    const { id } = await fixture.automation()
    const whole = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z', ...body }
    const answer = await fixture.call('POST', `/v4/automations/${id}/backtest`, { body: whole })
    expect([answer.status, answer.body.error.details[0].field]).toEqual([400, field])
  })

  test('returns 404 for a missing resource in the data, and for a missing automation', async () => {
    const { id } = await fixture.automation()
    const window = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
    const data = { initiators: on('go'), actions: { screen: 'scr_nowhere' } }
    expect((await fixture.call('POST', `/v4/automations/${id}/backtest`, { body: { ...window, data } })).status).toBe(404)
    expect((await fixture.call('POST', '/v4/automations/auto_nowhere/backtest', { body: window })).status).toBe(404)
  })

  test('that takes too long is aborted', async () => {
    const user = await fixture.user()
    const { data } = await fixture.automation()
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    const window = { from, to: await now() }
    const given = transaction(api.pool, tx => backtest(tx, fixture.environment, data, window, { limitMs: 0 }))
    await expect(given).rejects.toMatchObject({ code: 'upstream_timeout' })
  })
})

describe('the simulation on the log', () => {
  test('ends a wait by its event or at its deadline, even after the window; a wait that has not ended goes no further', async () => {
    const [ada, bob, cem, dan] = [await fixture.user(), await fixture.user(), await fixture.user(), await fixture.user()]
    const postOf = (event_name: string, ...users: string[]) => fixture.post(users.map(customer_uid => ({ event_name, customer_uid })))
    await postOf('back', ada)
    await postOf('go', ada, bob, cem)
    const to = await now()
    await fixture.advance(DAY)
    await postOf('back', ada)
    await postOf('back', ada)
    await fixture.post([{ event_name: 'back', customer_uid: bob }], false)
    await fixture.advance(DAY)
    await postOf('back', bob, cem)
    await postOf('go', dan)
    await fixture.advance(HOUR)
    const data = steps(wait('P2D', { on_timeout: [mark('late')] }), mark('then'))
    const { id } = await fixture.automation(data, 'inactive')
    const answer = await fixture.call('POST', `/v4/automations/${id}/backtest`, { body: { from, to } })
    expect(answer.body).toMatchObject({ events: 3, runs_started: 3, steps: { w: 3, late: 2, then: 3 } })
    expect(await backtestOf(data)).toMatchObject({ events: 4, runs_started: 4, steps: { w: 4, late: 2, then: 3 } })
  })

  test('starts a wait where the last one ended: an event ends one wait only, and an event during a delay none', async () => {
    const user = await fixture.user()
    const back = { event_name: 'back', customer_uid: user }
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.advance(HOUR)
    await fixture.post([back])
    await fixture.advance(DAY)
    await fixture.post([back])
    await fixture.advance(20 * DAY)
    const twice = steps(wait('P2D'), wait('P2D', { id: 'v', on_timeout: [mark('late')] }))
    expect((await backtestOf(twice)).steps).toEqual({ w: 1, v: 1, late: 0 })
    const thrice = steps(wait('P2D'), wait('P2D', { id: 'v' }), wait('P2D', { id: 'u', on_timeout: [mark('late')] }))
    expect((await backtestOf(thrice)).steps).toMatchObject({ u: 1, late: 1 })
    const either = steps(wait('P2D', { event: ['forth', 'back', '8'] }), wait('P1D', { id: 'v', event: ['8'], on_timeout: [mark('late')] }))
    expect((await backtestOf(either)).steps).toEqual({ w: 1, v: 1, late: 1 })
    const delayed = steps({ id: 'd', type: 'delay', duration: 'PT2H' }, wait('PT2H', { on_timeout: [mark('late')] }))
    expect((await backtestOf(delayed)).steps).toEqual({ d: 1, w: 1, late: 1 })
  })

  test('starts the next run without reentry only after the one before has ended', async () => {
    const user = await fixture.user()
    const go = { event_name: 'go', customer_uid: user }
    const back = { event_name: 'back', customer_uid: user }
    await fixture.post([go, go, back, go])
    await fixture.advance(2 * HOUR)
    await fixture.post([go])
    await fixture.advance(40 * DAY)
    // The event ends the first run, so the third starts. The third waits until its deadline, so the fourth does not start.
    const outcome = await backtestOf({ reentry: false, ...steps(wait('P1D')) })
    expect([outcome.runs_started, outcome.skipped.already_running]).toEqual([2, 2])
    const delayed = await backtestOf({ reentry: false, ...steps({ id: 'd', type: 'delay', duration: 'PT1H' }) })
    expect([delayed.runs_started, delayed.skipped.already_running]).toEqual([2, 2])
    // A run without waits has ended before the next event.
    expect((await backtestOf({ reentry: false, ...steps(mark('m')) })).runs_started).toBe(4)
    expect((await backtestOf({ ...steps(wait('P1D')) })).runs_started).toBe(4)
  })

  test('counts the runs in the window of a frequency', async () => {
    const user = await fixture.user()
    for (let n = 0; n < 6; n++) {
      await fixture.post([{ event_name: 'go', customer_uid: user }])
      await fixture.advance(20 * 60)
    }
    const outcome = await backtestOf({ frequency: { max_runs_per_user: 2, per: 'hour' } })
    // Starts at 0 and 20 minutes, and an hour after each of these, at 60 and 80.
    expect([outcome.runs_started, outcome.skipped.frequency_capped]).toEqual([4, 2])
    expect((await backtestOf({ frequency: { max_runs_per_user: 5, per: 'lifetime' } })).runs_started).toBe(5)
  })

  test('evaluates a branch with the event, the steps before it, and the present state of the user', async () => {
    const [ada, bob] = [await fixture.user(), await fixture.user()]
    const go = (customer_uid: string, price: string) => ({ event_name: 'go', customer_uid, price, currency: 'USD' })
    await fixture.post([go(ada, '5.00'), go(bob, '5.00'), go(bob, '50.00')])
    await fixture.advance(HOUR)
    await fixture.post([{ event_name: 'back', customer_uid: ada, device: { country: 'DE' } }])
    await fixture.advance(2 * DAY)
    const branch = (id: string, ...conditions: object[]) => ({
      id,
      type: 'branch',
      conditions,
      then: [exit(`${id}-then`)],
      else: [mark(`${id}-else`)],
    })
    const condition = (metric: string, comparator: string, value: string) => ({ metric, comparator, value })
    const outcome = await backtestOf(
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

  test('names the steps of actions after the actions', async () => {
    const user = await fixture.user()
    const screen = await fixture.screen()
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    const { id } = await fixture.automation({ steps: undefined, actions: { screen } }, 'inactive')
    const { body } = await fixture.call('POST', `/v4/automations/${id}/backtest`, { body: { from, to: await now() } })
    expect(body.steps).toEqual({ screen: 1 })
  })
})
