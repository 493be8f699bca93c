import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type AutomationProject, automationProject, LONG, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  fixture = await automationProject(api)
})

/** Status and reason of the runs, oldest first. */
const outcomes = async (automation: string) => (await fixture.runs(automation)).map(run => run.reason ?? run.status).reverse()

describe('an event that an automation names', () => {
  test('starts exactly one run, pending and due at once', async () => {
    const user = await fixture.user()
    const { id } = await fixture.automation()
    const posted = await fixture.post([
      { event_name: 'go', customer_uid: user, platform: 'iOS' },
      { event_name: 'other', customer_uid: user },
    ])
    await fixture.read()
    await fixture.read()
    const [run, ...more] = await fixture.runs(id)
    expect(more).toEqual([])
    expect(run).toEqual({
      object: 'automation_run',
      id: expect.stringMatching(/^run_[0-9a-z]{20}$/),
      url: `/v4/automation-runs/${run.id}`,
      automation_id: id,
      automation_version: 1,
      automation_name: 'A',
      automation_status: 'active',
      user_id: user,
      event: { id: posted.results[0].id, event_name: 'go', happened_at: '2026-03-01T12:00:00Z' },
      status: 'pending',
      reason: null,
      is_retrying: false,
      next_attempt_at: null,
      last_error: null,
      current_step: null,
      due_at: run.created_at,
      replay_of: null,
      created_at: expect.any(String),
      started_at: null,
      finished_at: null,
    })
  })

  test('starts no run as a backfill, and none of an inactive automation', async () => {
    const user = await fixture.user()
    const { id } = await fixture.automation()
    await fixture.post([{ event_name: 'go', customer_uid: user }], false)
    await fixture.read()
    await fixture.setStatus(id, 'inactive')
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.read()
    await fixture.setStatus(id, 'active')
    await fixture.read()
    expect(await fixture.runs(id)).toEqual([])
  })

  test('named both by uid and by slug starts one run', async () => {
    const user = await fixture.user()
    const { id } = await fixture.automation({ initiators: on('1', 'trial_started') })
    await fixture.post([{ event_name: 'trial_started', customer_uid: user, transaction: { expires_at: '2027-01-01T00:00:00Z' } }])
    await fixture.read()
    expect(await outcomes(id)).toEqual(['pending'])
  })
})

describe('a run is skipped', () => {
  test('for the first reason that applies, and is finished at its creation', async () => {
    const user = await fixture.user()
    const { id: segment } = await fixture.create('/v4/segments', {
      name: 'Germany',
      conditions: [{ metric: 'country', comparator: 'eq', value: 'DE' }],
    })
    const frequency = { max_runs_per_user: 1, per: 'lifetime' }
    const { id } = await fixture.automation({ platform: 'iOS', segments: segment, reentry: false, frequency })
    const iOS = { event_name: 'go', customer_uid: user, platform: 'iOS' }
    const step = async (item: object, status = 'active') => {
      await fixture.setStatus(id, status)
      await fixture.post([item])
      await fixture.read()
    }
    await step({ event_name: 'go' }, 'paused')
    await step({ event_name: 'go', customer_uid: user, platform: 'Android' }, 'paused')
    await step({ event_name: 'go', customer_uid: user, platform: 'Android' })
    await step(iOS)
    await fixture.post([{ event_name: 'seen', customer_uid: user, platform: 'iOS', device: { country: 'DE' } }])
    await step(iOS)
    await step(iOS)
    const [running] = await fixture.runs(id, '&filter[status][]=pending')
    await fixture.call('POST', `${running.url}/cancel`)
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
    const [last] = await fixture.runs(id)
    expect(last).toMatchObject({ status: 'skipped', due_at: null, started_at: null, finished_at: last.created_at })
  })

  test('for another platform than that of the event; without a platform it starts', async () => {
    const user = await fixture.user()
    const { id } = await fixture.automation({ platform: 'Android' })
    const any = await fixture.automation()
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.read()
    expect([await outcomes(id), await outcomes(any.id)]).toEqual([['platform_mismatch'], ['pending']])
  })

  test('for a deleted segment, and starts for members of a system segment', async () => {
    const user = await fixture.user()
    const { id: segment } = await fixture.create('/v4/segments', { name: 'All' })
    const gone = await fixture.automation({ segments: segment })
    const system = await fixture.automation({ segments: 'never_paid' })
    const others = await fixture.automation({ segments: 'active_trials' })
    await api.pool.query('delete from segments where id = $1', [segment])
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.read()
    expect(await Promise.all([gone, system, others].map(({ id }) => outcomes(id)))).toEqual([
      ['segment_mismatch'],
      ['pending'],
      ['segment_mismatch'],
    ])
  })

  test('for another run of the same batch, but only of the same user and automation', async () => {
    const [ada, bob] = [await fixture.user(), await fixture.user()]
    const once = await fixture.automation({ reentry: false })
    const twice = await fixture.automation({ frequency: { max_runs_per_user: 2, per: 'hour' } })
    const go = (customer_uid: string) => ({ event_name: 'go', customer_uid })
    await fixture.post([go(ada), go(ada), go(bob), go(ada), go(bob)])
    await fixture.read()
    const of = async (automation: string, user: string) =>
      (await fixture.runs(automation, `&filter[user_id]=${user}`)).map(run => run.reason ?? run.status).reverse()
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
  ])('per %s rolls: after %i seconds, and not before, a run may start again', async (per, seconds) => {
    const user = await fixture.user()
    const { id } = await fixture.automation({ frequency: { max_runs_per_user: 1, per } })
    const go = async () => {
      await fixture.post([{ event_name: 'go', customer_uid: user }])
      await fixture.read()
    }
    await go()
    await fixture.advance(seconds - 60)
    await go()
    await fixture.advance(60)
    await go()
    expect(await outcomes(id)).toEqual(['pending', 'frequency_capped', 'pending'])
  })

  test('per lifetime has no end, and counts runs that retention has deleted', async () => {
    const user = await fixture.user()
    const { id } = await fixture.automation({ frequency: { max_runs_per_user: 3, per: 'lifetime' } })
    await api.pool.query('insert into forgotten_runs values ($1, $2, $3, 2)', [fixture.environment, id, user])
    const go = { event_name: 'go', customer_uid: user }
    await fixture.post([go])
    await fixture.read()
    await fixture.advance(400 * 86_400)
    await fixture.post([go])
    await fixture.read()
    expect(await outcomes(id)).toEqual(['pending', 'frequency_capped'])
  })

  test('does not count a replay a second time', async () => {
    const user = await fixture.user()
    const { id } = await fixture.automation({ frequency: { max_runs_per_user: 2, per: 'day' } })
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.read()
    const [run] = await fixture.runs(id)
    await fixture.call('POST', `${run.url}/cancel`)
    expect((await fixture.call('POST', `${run.url}/replay`)).status).toBe(201)
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.read()
    expect((await fixture.runs(id)).map(({ status }) => status)).toEqual(['pending', 'pending', 'cancelled'])
  })
})

test('a run keeps the version with which it was started', async () => {
  const user = await fixture.user()
  const { id, url } = await fixture.automation()
  await fixture.post([{ event_name: 'go', customer_uid: user }])
  await fixture.read()
  await fixture.call('PUT', url, { body: { name: 'A', status: 'active', data: { initiators: on('go'), steps: LONG, reentry: false } } })
  await fixture.post([{ event_name: 'go', customer_uid: user }])
  await fixture.read()
  expect((await fixture.runs(id)).map(run => [run.automation_version, run.reason])).toEqual([
    [2, 'already_running'],
    [1, null],
  ])
})
