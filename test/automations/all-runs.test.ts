// The runs of all automations in one list, and what a run says about attempts and about what is ahead.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noteRetrying } from '../../domain/automations/automation-runs/retrying.ts'
import { noteUnsuccessful } from '../../domain/automations/automation-runs/run.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type AutomationProject, automationProject, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi()
  fixture = await automationProject(api)
})
afterAll(() => api.stop())

// biome-ignore lint/suspicious/noExplicitAny: as the API shows them
type Run = any

const list = async (query = '', project = fixture): Promise<Run[]> => {
  const { status, body, text } = await project.call('GET', `/v4/automation-runs?limit=100${query}`)
  expect(status, text).toBe(200)
  return body.data
}
const idsOf = (runs: Run[]) => runs.map(({ id }) => id)
const get = async (id: string, project = fixture): Promise<Run> => (await project.call('GET', `/v4/automation-runs/${id}`)).body

/** As a worker leaves a run whose step has failed once, or that has ended. */
async function put(id: string, status: string, step?: { id: string; type: string; status: string; attempts?: object[] }, n = 0) {
  const { rows } = await api.pool.query('select number from automation_runs where id = $1', [id])
  const { number } = rows[0]
  const isOver = ['failed', 'succeeded'].includes(status)
  await api.pool.query(
    `update automation_runs set status = $2, current_step = $3, finished_at = case when $4 then now() end, due_at = case when $4 then null else due_at end
     where number = $1`,
    [number, status, step?.id, isOver],
  )
  if (step)
    await api.pool.query(
      `insert into automation_steps (run, n, step_id, type, status, started_at, due_at, attempts)
       values ($1, $6, $2, $3, $4, '2026-03-01T12:00:00Z', '2026-03-01T12:01:00Z', $5)`,
      [number, step.id, step.type, step.status, JSON.stringify(step.attempts ?? []), n],
    )
  if (isOver) await api.pool.query(`delete from due where kind = 'automation-run' and id = $1`, [number])
  for (const note of [noteUnsuccessful, noteRetrying])
    await api.pool.query(`with noted as (select * from automation_runs where number = $1) ${note('noted')}`, [number])
}
const failed = { number: 1, started_at: '2026-03-01T12:00:00.500Z', duration_ms: 12.4, error: 'no answer' }

test('has the runs of all automations, newest first, page by page, and no run twice', async () => {
  const project = await automationProject(api)
  const users = [await project.user(), await project.user()]
  const automations = []
  for (const name of ['go', 'stop', 'go']) automations.push(await project.automation({ initiators: on(name) }))
  for (let i = 0; i < 3; i++) {
    await project.post(users.flatMap(customer_uid => ['go', 'stop', 'idle'].map(event_name => ({ event_name, customer_uid }))))
    await project.read()
  }
  const all = await list('', project)
  expect(all).toHaveLength(18)
  const one = (await Promise.all(automations.map(({ id }) => project.runs(id)))).flat()
  expect(new Set(idsOf(all))).toEqual(new Set(idsOf(one)))
  expect(all).toEqual(all.toSorted((a, b) => b.created_at.localeCompare(a.created_at) || (b.id < a.id ? -1 : 1)))
  const walked: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await project.call('GET', `/v4/automation-runs?limit=4${cursor}`)
    walked.push(...idsOf(body.data))
    expect(body.has_more).toBe(body.next_cursor !== undefined)
    if (!body.has_more) break
    cursor = `&starting_after=${body.next_cursor}`
  }
  expect(walked).toEqual(idsOf(all))
  expect(new Set((await list('&filter[event_name][]=stop', project)).map(run => run.automation_id))).toEqual(new Set([automations[1].id]))
  expect(await list('&filter[event_name][]=idle', project)).toEqual([])
  expect(idsOf(await list(`&filter[automation_id]=${automations[2].id}`, project))).toEqual(idsOf(await project.runs(automations[2].id)))
  const ofUser = await list(`&filter[user_id]=${users[1]}&filter[event_name][]=go`, project)
  expect(ofUser).toHaveLength(6)
  expect(new Set(ofUser.map(run => run.user_id))).toEqual(new Set([users[1]]))
  const page = (await project.call('GET', `/v4/automation-runs?limit=2&filter[user_id]=${users[1]}`)).body
  const next = (await project.call('GET', `/v4/automation-runs?limit=2&filter[user_id]=${users[1]}&starting_after=${page.next_cursor}`))
    .body
  expect(idsOf([...page.data, ...next.data])).toEqual(idsOf(await list(`&filter[user_id]=${users[1]}`, project)).slice(0, 4))
  expect(await list('&to=2026-01-01T00:00:00Z', project)).toEqual([])
  expect(await list('')).toEqual([])
  const restarted = await project.call('GET', '/v4/automation-runs?starting_after=run_nowhere&limit=1')
  expect([restarted.headers.get('x-qon-pagination-restarted'), restarted.body.data[0].id]).toEqual(['true', all[0].id])
  expect((await project.call('GET', '/v4/automation-runs?filter[status][]=late')).status).toBe(400)
})

test('finds runs by status, also by several, and those that are tried again, by the run or by its delivery', async () => {
  const project = await automationProject(api)
  const user = await project.user()
  const automation = await project.automation({ steps: [{ id: 'say', type: 'set_property', key: 'a', value: 'b' }] })
  const hook = await project.create('/v4/integrations', { title: 'Hook', integration: 'webhooks', target_platform: 'iOS' })
  await project.post(Array.from({ length: 5 }, () => ({ event_name: 'go', customer_uid: user })))
  await project.post([{ event_name: 'go' }])
  await project.read()
  const [skipped] = await list('&filter[status][]=skipped', project)
  const runs = await list(`&filter[user_id]=${user}`, project)
  const [own, delivered, over, calm, fresh] = runs as [Run, Run, Run, Run, Run]
  expect(skipped).toMatchObject({
    status: 'skipped',
    automation_name: 'A',
    automation_status: 'active',
    is_retrying: false,
    last_error: null,
  })
  await put(own.id, 'running', { id: 'say', type: 'set_property', status: 'running', attempts: [failed] })
  await put(delivered.id, 'waiting', { id: 'hook', type: 'webhook', status: 'waiting' })
  await put(over.id, 'failed', { id: 'say', type: 'set_property', status: 'failed', attempts: [failed] })
  await put(calm.id, 'waiting', { id: 'say', type: 'set_property', status: 'waiting' })
  await api.pool.query(
    `insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, run_id, step_id, status,
       attempt_count, attempts, next_attempt_at, created_at)
     select $1, 'dlv_1', number, 'automation', 'e', 'go', $3, 0, 0, $4, 'hook', 'retrying', 1, $5, '2026-03-01T12:05:00Z', now()
     from integrations where environment = $1 and id = $2`,
    [project.environment, hook.id, user, delivered.id, JSON.stringify([{ ...failed, http_status: 503, response: 'busy' }])],
  )
  // As a process of an earlier release leaves it, which goes on with a step beside this one.
  await api.pool.query(
    'insert into retrying_runs (number, environment, automation_id, created_at, id) select number, environment, automation_id, created_at, id from automation_runs where id = $1',
    [calm.id],
  )
  await api.pool.query('update integrations set active = 1 where environment = $1 and id = $2', [project.environment, hook.id])
  const found = async (...statuses: string[]) =>
    idsOf(await list(statuses.map(status => `&filter[status][]=${status}`).join(''), project)).toSorted()
  const ids = (...some: Run[]) => idsOf(some).toSorted()
  expect(await found('retrying')).toEqual(ids(own, delivered))
  expect(await found('failed')).toEqual(ids(over))
  expect(await found('running')).toEqual(ids(own))
  expect(await found('waiting')).toEqual(ids(delivered, calm))
  expect(await found('pending')).toEqual(ids(fresh))
  expect(await found('retrying', 'failed')).toEqual(ids(own, delivered, over))
  expect(await found('retrying', 'skipped')).toEqual(ids(own, delivered, skipped))
  expect(idsOf(await list(`&filter[status][]=retrying&filter[user_id]=${user}`, project)).toSorted()).toEqual(ids(own, delivered))
  expect(await list('&filter[status][]=retrying&filter[event_name][]=stop', project)).toEqual([])
  const shown = new Map((await list('', project)).map(run => [run.id, run]))
  expect(shown.get(own.id)).toMatchObject({ is_retrying: true, next_attempt_at: '2026-03-01T12:01:00Z', last_error: 'no answer' })
  expect(shown.get(delivered.id)).toMatchObject({ is_retrying: true, next_attempt_at: '2026-03-01T12:05:00Z', last_error: 'no answer' })
  expect(shown.get(over.id)).toMatchObject({ is_retrying: false, next_attempt_at: null, last_error: 'no answer' })
  expect(shown.get(calm.id)).toMatchObject({ is_retrying: false, last_error: null })
  const [step] = (await get(delivered.id, project)).steps
  expect(step.delivery).toEqual({
    ...{
      id: 'dlv_1',
      integration_id: hook.id,
      status: 'retrying',
      reason: null,
      attempt_count: 1,
      next_attempt_at: '2026-03-01T12:05:00Z',
    },
    attempts: [{ number: 1, started_at: '2026-03-01T12:00:00Z', duration_ms: 12, http_status: 503, error: 'no answer' }],
  })
  await api.pool.query('update integrations set active = 2 where environment = $1 and id = $2', [project.environment, hook.id])
  expect((await get(delivered.id, project)).steps[0].delivery).toMatchObject({ status: 'held', next_attempt_at: null })
  await project.call('POST', `/v4/automation-runs/${own.id}/cancel`)
  expect(await found('retrying')).toEqual(ids(delivered))
  expect((await api.pool.query('select 1 from retrying_runs where id = $1', [own.id])).rowCount).toBe(0)
  await project.call('DELETE', automation.url)
  expect((await get(over.id, project)).automation_name).toBeNull()
})

test('shows the steps ahead with the latest time at which each begins, as far as that is known', async () => {
  const project = await automationProject(api)
  const user = await project.user()
  const leaf = { id: 'leaf', type: 'set_property', key: 'k', value: 'v' }
  await project.automation({
    steps: [
      { id: 'rest', type: 'delay', duration: 'PT2H' },
      { id: 'hear', type: 'wait_for_event', event: 'heard', timeout: 'P1D', on_timeout: [leaf] },
      { id: 'fork', type: 'branch', conditions: [], then: [{ id: 'nap', type: 'delay', duration: 'PT1H' }], else: [] },
      { id: 'end', type: 'exit' },
      { id: 'never', type: 'set_property', key: 'k', value: 'w' },
    ],
  })
  await project.post([{ event_name: 'go', customer_uid: user }])
  await project.read()
  const [{ id }] = await list('', project)
  const pending = await get(id, project)
  expect(pending.steps).toEqual([])
  expect(pending.ahead.map((step: Run) => [step.step_id, step.type])).toEqual([
    ['rest', 'delay'],
    ['hear', 'wait_for_event'],
    ['fork', 'branch'],
    ['end', 'exit'],
  ])
  const hours = (later: string, sooner: string) => (Date.parse(later) - Date.parse(sooner)) / 3_600_000
  const [rest, hear, fork, end] = pending.ahead
  expect([hours(hear.begins_by, rest.begins_by), hours(fork.begins_by, hear.begins_by), end.begins_by]).toEqual([2, 24, null])
  expect(hear.definition).toEqual({ id: 'hear', type: 'wait_for_event', event: 'heard', timeout: 'P1D' })
  await put(id, 'waiting', { id: 'rest', type: 'delay', status: 'waiting' })
  const waiting = await get(id, project)
  expect(waiting.steps[0]).toMatchObject({ definition: { id: 'rest', type: 'delay', duration: 'PT2H' }, delivery: null })
  expect(waiting.ahead.map((step: Run) => [step.step_id, step.begins_by])).toEqual([
    ['hear', '2026-03-01T12:01:00Z'],
    ['fork', '2026-03-02T12:01:00Z'],
    ['end', null],
  ])
  await project.call('POST', `/v4/automation-runs/${id}/cancel`)
  expect((await get(id, project)).ahead).toEqual([])
})

test('shows nothing behind a step in which the run may end', async () => {
  const project = await automationProject(api)
  const user = await project.user()
  const end = (id: string) => ({ id, type: 'exit' })
  const set = (id: string) => ({ id, type: 'set_property', key: 'k', value: 'v' })
  const fork = { id: 'fork', type: 'branch', conditions: [], then: [], else: [set('inner'), end('out')] }
  const hear = { id: 'hear', type: 'wait_for_event', event: 'heard', timeout: 'P1D', on_timeout: [fork] }
  await project.automation({ steps: [set('first'), hear, set('last')] })
  await project.post([{ event_name: 'go', customer_uid: user }])
  await project.read()
  const [{ id }] = await list('', project)
  const ahead = async () => (await get(id, project)).ahead.map((step: Run) => step.step_id)
  expect(await ahead()).toEqual(['first', 'hear'])
  await put(id, 'running', { id: 'first', type: 'set_property', status: 'succeeded' })
  await put(id, 'waiting', { id: 'hear', type: 'wait_for_event', status: 'waiting' }, 1)
  expect(await ahead()).toEqual([])
})
