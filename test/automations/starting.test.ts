import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Ground, ground, LONG, on } from './ground.ts'

let api: TestApi
let g: Ground
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  g = await ground(api)
})

/** What became of the events, oldest first. */
const outcomes = async (automation: string) => (await g.runs(automation)).map(run => run.reason ?? run.status).reverse()

describe('an event that an automation names', () => {
  test('has exactly one run of it, pending and due at once', async () => {
    const user = await g.user()
    const { id } = await g.automation()
    const told = await g.tell([
      { event_name: 'go', customer_uid: user, platform: 'iOS' },
      { event_name: 'other', customer_uid: user },
    ])
    await g.read()
    await g.read()
    const [run, ...more] = await g.runs(id)
    expect(more).toEqual([])
    expect(run).toEqual({
      object: 'automation_run',
      id: expect.stringMatching(/^run_[0-9a-z]{20}$/),
      url: `/v4/automation-runs/${run.id}`,
      automation_id: id,
      automation_version: 1,
      user_id: user,
      event: { id: told.results[0].id, event_name: 'go', happened_at: '2026-03-01T12:00:00Z' },
      status: 'pending',
      reason: null,
      current_step: null,
      due_at: run.created_at,
      replay_of: null,
      created_at: expect.any(String),
      started_at: null,
      finished_at: null,
    })
  })

  test('starts nothing as a backfill, nor of an inactive automation', async () => {
    const user = await g.user()
    const { id } = await g.automation()
    await g.tell([{ event_name: 'go', customer_uid: user }], false)
    await g.read()
    await g.setStatus(id, 'inactive')
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.read()
    await g.setStatus(id, 'active')
    await g.read()
    expect(await g.runs(id)).toEqual([])
  })

  test('named by uid and by slug has one run all the same', async () => {
    const user = await g.user()
    const { id } = await g.automation({ initiators: on('1', 'trial_started') })
    await g.tell([{ event_name: 'trial_started', customer_uid: user }])
    await g.read()
    expect(await outcomes(id)).toEqual(['pending'])
  })
})

describe('a run is skipped', () => {
  test('for the first reason that applies, finished as it is made', async () => {
    const user = await g.user()
    const { id: segment } = await g.made('/v4/segments', {
      name: 'Germany',
      conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }],
    })
    const frequency = { max_runs_per_user: 1, per: 'lifetime' }
    const { id } = await g.automation({ platform: 'iOS', segments: segment, reentry: false, frequency })
    const iOS = { event_name: 'go', customer_uid: user, platform: 'iOS' }
    const step = async (item: object, status = 'active') => {
      await g.setStatus(id, status)
      await g.tell([item])
      await g.read()
    }
    await step({ event_name: 'go' }, 'paused')
    await step({ event_name: 'go', customer_uid: user, platform: 'Android' }, 'paused')
    await step({ event_name: 'go', customer_uid: user, platform: 'Android' })
    await step(iOS)
    await g.tell([{ event_name: 'seen', customer_uid: user, platform: 'iOS', device: { country: 'DE' } }])
    await step(iOS)
    await step(iOS)
    const [running] = await g.runs(id, '&filter[status][]=pending')
    await g.call('POST', `${running.url}/cancel`)
    await step(iOS)
    expect(await outcomes(id)).toEqual([
      'no_user',
      'automation_paused',
      'platform_mismatch',
      'segment_mismatch',
      'cancelled_by_api',
      'already_running',
      'frequency_capped',
    ])
    const [last] = await g.runs(id)
    expect(last).toMatchObject({ status: 'skipped', due_at: null, started_at: null, finished_at: last.created_at })
  })

  test('for a platform that the event does not have; with none asked for it starts', async () => {
    const user = await g.user()
    const { id } = await g.automation({ platform: 'Android' })
    const any = await g.automation()
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.read()
    expect([await outcomes(id), await outcomes(any.id)]).toEqual([['platform_mismatch'], ['pending']])
  })

  test('for a segment that is gone, and starts for members of a system segment', async () => {
    const user = await g.user()
    const { id: segment } = await g.made('/v4/segments', { name: 'All' })
    const gone = await g.automation({ segments: segment })
    const system = await g.automation({ segments: 'never_paid' })
    const others = await g.automation({ segments: 'active_trials' })
    await api.pool.query('delete from segments where id = $1', [segment])
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.read()
    expect(await Promise.all([gone, system, others].map(({ id }) => outcomes(id)))).toEqual([
      ['segment_mismatch'],
      ['pending'],
      ['segment_mismatch'],
    ])
  })

  test('for one of the same batch, of the same user and automation alone', async () => {
    const [ada, bob] = [await g.user(), await g.user()]
    const once = await g.automation({ reentry: false })
    const twice = await g.automation({ frequency: { max_runs_per_user: 2, per: 'hour' } })
    const go = (customer_uid: string) => ({ event_name: 'go', customer_uid })
    await g.tell([go(ada), go(ada), go(bob), go(ada), go(bob)])
    await g.read()
    const of = async (automation: string, user: string) =>
      (await g.runs(automation, `&filter[user_id]=${user}`)).map(run => run.reason ?? run.status).reverse()
    expect(await of(once.id, ada)).toEqual(['pending', 'already_running', 'already_running'])
    expect(await of(once.id, bob)).toEqual(['pending', 'already_running'])
    expect(await of(twice.id, ada)).toEqual(['pending', 'pending', 'frequency_capped'])
    expect(await of(twice.id, bob)).toEqual(['pending', 'pending'])
  })
})

describe('the window of a frequency', () => {
  test.each([
    ['hour', 3600],
    ['day', 86_400],
    ['week', 7 * 86_400],
    ['month', 30 * 86_400],
  ])('per %s rolls: after %i seconds a run may start again, not before', async (per, seconds) => {
    const user = await g.user()
    const { id } = await g.automation({ frequency: { max_runs_per_user: 1, per } })
    const go = async () => {
      await g.tell([{ event_name: 'go', customer_uid: user }])
      await g.read()
    }
    await go()
    await g.advance(seconds - 60)
    await go()
    await g.advance(60)
    await go()
    expect(await outcomes(id)).toEqual(['pending', 'frequency_capped', 'pending'])
  })

  test('per lifetime has no end, and counts runs that are no longer kept', async () => {
    const user = await g.user()
    const { id } = await g.automation({ frequency: { max_runs_per_user: 3, per: 'lifetime' } })
    await api.pool.query('insert into forgotten_runs values ($1, $2, $3, 2)', [g.environment, id, user])
    const go = { event_name: 'go', customer_uid: user }
    await g.tell([go])
    await g.read()
    await g.advance(400 * 86_400)
    await g.tell([go])
    await g.read()
    expect(await outcomes(id)).toEqual(['pending', 'frequency_capped'])
  })

  test('counts a replay with its event: not a second time', async () => {
    const user = await g.user()
    const { id } = await g.automation({ frequency: { max_runs_per_user: 2, per: 'day' } })
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.read()
    const [run] = await g.runs(id)
    await g.call('POST', `${run.url}/cancel`)
    expect((await g.call('POST', `${run.url}/replay`)).status).toBe(201)
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.read()
    expect((await g.runs(id)).map(({ status }) => status)).toEqual(['pending', 'pending', 'cancelled'])
  })
})

test('a run keeps the version that it was started with', async () => {
  const user = await g.user()
  const { id, url } = await g.automation()
  await g.tell([{ event_name: 'go', customer_uid: user }])
  await g.read()
  await g.call('PUT', url, { body: { name: 'A', status: 'active', data: { initiators: on('go'), steps: LONG, reentry: false } } })
  await g.tell([{ event_name: 'go', customer_uid: user }])
  await g.read()
  expect((await g.runs(id)).map(run => [run.automation_version, run.reason])).toEqual([
    [2, 'already_running'],
    [1, null],
  ])
})
