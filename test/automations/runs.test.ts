import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { noteUnsuccessful } from '../../domain/automations/automation-runs/run.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type AutomationProject, automationProject } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())
beforeEach(async () => {
  fixture = await automationProject(api)
})

/** An automation and its runs of that many events of one user, oldest first. */
async function started(events: number, data: object = {}) {
  const user = await fixture.user()
  const automation = await fixture.automation(data)
  await fixture.post(Array.from({ length: events }, () => ({ event_name: 'go', customer_uid: user })))
  await fixture.read()
  const runs = (await fixture.runs(automation.id)).reverse()
  return { user, automation, runs }
}
const numberOf = async (id: string): Promise<number> =>
  (await api.pool.query('select number from automation_runs where id = $1', [id])).rows[0].number
/** Puts a run into the state in which workers leave it: claimed, waiting in a step, or ended. */
const taken = async (id: string) =>
  api.pool.query(
    `update due set fence = fence + 1, lease_until = now() + interval '30 seconds' where kind = 'automation-run' and id = $1`,
    [await numberOf(id)],
  )
async function passed(id: string, steps: [step: string, status: string, result: object | null][], status: string) {
  const number = await numberOf(id)
  for (const [n, [step, stepStatus, result]] of steps.entries())
    await api.pool.query(
      `insert into automation_steps (run, n, step_id, type, status, started_at, finished_at, result, attempts)
       values ($1, $2, $3, 'webhook', $4, '2026-03-01T12:00:00.9Z', '2026-03-01T12:00:01Z', $5,
         '[{"number":1,"started_at":"2026-03-01T12:00:00Z","duration_ms":3,"error":null}]')`,
      [number, n, step, stepStatus, result],
    )
  const isOver = !['running', 'waiting'].includes(status)
  await api.pool.query(
    `update automation_runs set status = $2, current_step = $3, due_at = case when $4 then null else due_at end, finished_at = case when $4 then now() end
     where number = $1`,
    [number, status, isOver ? null : steps.at(-1)![0], isOver],
  )
  if (isOver) await api.pool.query(`delete from due where kind = 'automation-run' and id = $1`, [number])
  await api.pool.query(`with ended as (select * from automation_runs where number = $1) ${noteUnsuccessful('ended')}`, [number])
}

describe('the list of runs', () => {
  test('has the runs of this automation, newest first, page by page', async () => {
    const { automation } = await started(5)
    const other = await started(1)
    const runs = await fixture.runs(automation.id)
    const page = async (query: string) => (await fixture.call('GET', `${automation.url}/runs?limit=2${query}`)).body
    const ids: string[] = []
    let cursor = ''
    for (;;) {
      const { data, next_cursor, url } = await page(cursor)
      expect(url).toBe(`${automation.url}/runs`)
      ids.push(...data.map((run: { id: string }) => run.id))
      if (!next_cursor) break
      cursor = `&starting_after=${next_cursor}`
    }
    expect(ids).toHaveLength(6)
    expect(ids).toEqual(runs.map(run => run.id))
    const foreign = await fixture.call('GET', `${automation.url}/runs?limit=2&starting_after=${other.runs[0].id}`)
    expect(foreign.headers.get('x-qon-pagination-restarted')).toBe('true')
    expect(foreign.body.data[0].id).toBe(ids[0])
  })

  test('filters by status (any of several), user and time of creation', async () => {
    const { automation, runs, user } = await started(3)
    await taken(runs[0].id)
    await passed(runs[1].id, [['x', 'failed', null]], 'failed')
    await fixture.post([{ event_name: 'go' }])
    await fixture.read()
    const ids = async (query: string) => (await fixture.runs(automation.id, query)).map(run => run.id).reverse()
    expect(await ids('&filter[status][]=running')).toEqual([runs[0].id])
    expect(await ids('&filter[status][]=pending')).toEqual([runs[2].id])
    expect(await ids('&filter[status][]=pending&filter[status][]=failed')).toEqual([runs[1].id, runs[2].id])
    expect(await ids('&filter[status][]=skipped')).toHaveLength(1)
    expect(await ids(`&filter[user_id]=${user}`)).toHaveLength(3)
    expect(await ids('&filter[user_id]=nobody')).toEqual([])
    const at = Date.parse(runs[0].created_at)
    const time = (ms: number) => encodeURIComponent(new Date(ms).toISOString())
    expect(await ids(`&from=${time(at)}&to=${time(at + 60_000)}`)).toHaveLength(4)
    expect(await ids(`&to=${time(at)}`)).toEqual([])
    expect(await ids(`&from=${time(at + 60_000)}`)).toEqual([])
  })
})

describe('a run', () => {
  test('is running as soon as a worker has claimed it', async () => {
    const { automation, runs } = await started(1)
    await taken(runs[0].id)
    expect((await fixture.call('GET', runs[0].url)).body.status).toBe('running')
    expect((await fixture.runs(automation.id))[0].status).toBe('running')
  })

  test('whose step is being retried shows the attempts so far with their errors, and when the next one is due', async () => {
    const { runs } = await started(1)
    await passed(runs[0].id, [['long', 'running', null]], 'running')
    await api.pool.query(
      `update automation_steps set due_at = '2026-03-01T12:00:10Z', attempts = jsonb_set(attempts, '{0,error}', '"no answer"') where run = $1`,
      [await numberOf(runs[0].id)],
    )
    const [step] = (await fixture.call('GET', runs[0].url)).body.steps
    expect(step).toMatchObject({
      status: 'running',
      next_attempt_at: '2026-03-01T12:00:10Z',
      attempts: [{ number: 1, error: 'no answer' }],
    })
  })

  test("has its timeline in the order of the steps' start", async () => {
    const { runs } = await started(1)
    await passed(
      runs[0].id,
      [
        ['hook', 'succeeded', { delivery_id: 'dlv_1', http_status: 200 }],
        ['again', 'waiting', null],
      ],
      'waiting',
    )
    const { body } = await fixture.call('GET', runs[0].url)
    expect(body).toMatchObject({ status: 'waiting', current_step: 'again' })
    expect(body.steps).toHaveLength(2)
    expect(body.steps[0]).toEqual({
      step_id: 'hook',
      type: 'webhook',
      status: 'succeeded',
      reason: null,
      started_at: '2026-03-01T12:00:00Z',
      finished_at: '2026-03-01T12:00:01Z',
      due_at: null,
      next_attempt_at: null,
      reused: false,
      result: { delivery_id: 'dlv_1', http_status: 200 },
      attempts: [{ number: 1, started_at: '2026-03-01T12:00:00Z', duration_ms: 3, error: null }],
      // No such delivery, and no such step in the definition.
      delivery: null,
      definition: null,
    })
  })
})

describe('cancelling', () => {
  test.each(['pending', 'running', 'waiting'])('ends a run that is %s, once', async status => {
    const { runs } = await started(2)
    const { id, url } = runs[0]
    if (status !== 'pending') await passed(id, [['x', status, null]], status)
    const first = await fixture.call('POST', `${url}/cancel`)
    expect([first.status, first.body.status, first.body.reason, first.body.due_at]).toEqual([200, 'cancelled', 'cancelled_by_api', null])
    expect(first.body.finished_at).not.toBeNull()
    const second = await fixture.call('POST', `${url}/cancel`)
    expect([second.status, second.body]).toEqual([200, first.body])
    const { rows } = await api.pool.query(`select id from due where kind = 'automation-run' and environment = $1`, [fixture.environment])
    expect(rows).toEqual([{ id: await numberOf(runs[1].id) }])
    const entries = await api.pool.query(
      `select before ->> 'status' as before from audit_log where operation = 'v4CancelAutomationRun' and resource_id = $1`,
      [id],
    )
    expect(entries.rows).toEqual([{ before: status }])
  })

  test.each(['succeeded', 'failed', 'skipped'])('is refused when the run is %s', async status => {
    const { runs } = await started(1)
    await passed(runs[0].id, [['x', 'succeeded', null]], status)
    const { status: code, body } = await fixture.call('POST', `${runs[0].url}/cancel`)
    expect([code, body.error.code]).toEqual([409, 'conflict'])
  })
})

describe('a replay', () => {
  const replay = (run: { url: string }, body?: object) => fixture.call('POST', `${run.url}/replay`, body ? { body } : {})

  test('is a new run of the same event and version, due at once', async () => {
    const { automation, runs } = await started(1)
    await passed(runs[0].id, [['x', 'failed', null]], 'failed')
    await fixture.call('PUT', automation.url, { body: { name: 'A', status: 'inactive', data: { ...automation.data, reentry: false } } })
    const { status, body, headers } = await replay(runs[0])
    expect([status, headers.get('location')]).toEqual([201, body.url])
    expect(body).toEqual({
      ...runs[0],
      automation_status: 'inactive',
      id: body.id,
      url: `/v4/automation-runs/${body.id}`,
      replay_of: runs[0].id,
      created_at: body.created_at,
      due_at: body.due_at,
    })
    expect(body.due_at).not.toBeNull()
    expect((await fixture.call('GET', body.url)).body.steps).toEqual([])
    const { rows } = await api.pool.query(`select id from due where kind = 'automation-run' and environment = $1`, [fixture.environment])
    expect(rows).toEqual([{ id: await numberOf(body.id) }])
  })

  test('from a step copies the steps before it, with their results', async () => {
    const { runs } = await started(1)
    const timeline: Parameters<typeof passed>[1] = [
      ['a', 'succeeded', { http_status: 200 }],
      ['b', 'skipped', null],
      ['c', 'failed', null],
    ]
    await passed(runs[0].id, timeline, 'failed')
    const { body } = await replay(runs[0], { from_step: 'c' })
    const { steps } = (await fixture.call('GET', body.url)).body
    const original = (await fixture.call('GET', runs[0].url)).body.steps
    expect(steps).toEqual(original.slice(0, 2).map((step: object) => ({ ...step, reused: true })))
    const wrong = await replay(runs[0], { from_step: 'd' })
    expect([wrong.status, wrong.body.error.details[0].field]).toEqual([400, 'from_step'])
  })

  test('of a skipped run starts it', async () => {
    const automation = await fixture.automation()
    await fixture.post([{ event_name: 'go' }])
    await fixture.read()
    const [skipped] = await fixture.runs(automation.id)
    expect((await replay(skipped)).body).toMatchObject({ status: 'pending', reason: null, replay_of: skipped.id })
  })

  test('is refused while the run is unfinished, and after its automation was deleted', async () => {
    const { automation, runs } = await started(1)
    expect((await replay(runs[0])).status).toBe(409)
    await fixture.call('DELETE', automation.url)
    expect((await replay(runs[0])).body.error).toMatchObject({ code: 'conflict', message: 'the automation of the run was deleted' })
  })

  test('does not prevent further replays: each request creates one more', async () => {
    const { automation, runs } = await started(1)
    await passed(runs[0].id, [['x', 'succeeded', null]], 'succeeded')
    const created = await Promise.all(Array.from({ length: 10 }, () => replay(runs[0])))
    expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]))
    expect(await fixture.runs(automation.id)).toHaveLength(11)
  })
})
