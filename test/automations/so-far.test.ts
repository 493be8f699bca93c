// What an automation did: counts by step and version, figures of a day in the list, and its versions. Real runs on the sandbox clock.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { type AutomationProject, automationProject, LONG, on } from './fixture.ts'

let api: TestApi
let fixture: AutomationProject
beforeAll(async () => {
  api = await startApi({ worker: true })
})
afterAll(() => api.stop())
beforeEach(async () => {
  fixture = await automationProject(api)
})

const STEPS = [
  { id: 'settle', type: 'delay', duration: 'PT1H' },
  {
    id: 'converts',
    type: 'wait_for_event',
    event: 'paid',
    timeout: 'P1D',
    on_timeout: [
      {
        id: 'phone',
        type: 'branch',
        conditions: [{ metric: 'event:platform', comparator: 'eq', value: 'iOS' }],
        then: [{ id: 'mark', type: 'set_property', key: 'offered', value: 'yes' }],
        else: [],
      },
    ],
  },
]

async function advance(by: string) {
  const { status, body } = await fixture.call('POST', '/v4/test-clock/advance', { body: { by } })
  expect(status).toBe(200)
  return body.now as string
}
const now = async () => (await fixture.call('GET', '/v4/test-clock')).body.now as string
const happen = async (items: object[]) => {
  const happened_at = await now()
  await fixture.post(items.map(item => ({ happened_at, ...item })))
  await advance('PT1S')
}
// biome-ignore lint/suspicious/noExplicitAny: as the API shows them
type Answer = any
const get = async (path: string): Promise<Answer> => {
  const answer = await fixture.call('GET', path)
  if (answer.status !== 200) throw new Error(`${path}: ${answer.text}`)
  return answer.body
}
const counts = (id: string, query = '') => get(`/v4/automations/${id}/step-counts${query}`)
const put = (id: string, body: object) => fixture.call('PUT', `/v4/automations/${id}`, { body })

/** The same counts from the runs and their timelines, one by one. */
async function countedOneByOne(id: string) {
  const found: Record<string, number> = {}
  const add = (key: string) => {
    found[key] = (found[key] ?? 0) + 1
  }
  for (const { url, automation_version: version, status, reason, replay_of } of await fixture.runs(id)) {
    if (status === 'skipped') {
      add(`${version} skipped ${reason}`)
      continue
    }
    add(`${version} started`)
    if (replay_of) add(`${version} replays`)
    add(`${version} ${['succeeded', 'failed', 'cancelled'].includes(status) ? status : 'unfinished'}`)
    const { steps } = await get(url)
    for (const step of steps.filter(({ reused }: Answer) => !reused)) {
      add(`${version} ${step.step_id} reached`)
      add(`${version} ${step.step_id} ${step.status === 'running' ? 'retrying' : step.status}`)
      const branch = { branch: step.result?.taken, wait_for_event: step.result?.outcome }[step.type as string]
      if (branch) add(`${version} ${step.step_id} > ${branch}`)
    }
    if (['succeeded', 'failed', 'cancelled'].includes(status)) add(`${version} ${steps.at(-1).step_id} ended`)
  }
  return found
}

function flattened({ data }: Answer) {
  const found: Record<string, number> = {}
  const put = (key: string, n: number) => {
    if (n > 0) found[key] = n
  }
  for (const { version, skipped, steps, ...figures } of data) {
    for (const [name, n] of Object.entries(figures)) put(`${version} ${name}`, n as number)
    for (const [reason, n] of Object.entries(skipped)) put(`${version} skipped ${reason}`, n as number)
    for (const { step_id, type: _, branches, ...of } of steps) {
      for (const [name, n] of Object.entries(of)) put(`${version} ${step_id} ${name}`, n as number)
      for (const [name, n] of Object.entries(branches ?? {})) put(`${version} ${step_id} > ${name}`, n as number)
    }
  }
  return found
}

test('counts by step and version are those of the single runs, with skips, branches, replays and cancellations', {
  timeout: 60_000,
}, async () => {
  const { id, url } = await fixture.automation({ steps: STEPS, reentry: false })
  const users = await Promise.all([1, 2, 3, 4].map(() => fixture.user()))
  const [payer, phone, other] = users as [string, string, string]
  await happen(users.map(customer_uid => ({ event_name: 'go', customer_uid, ...(customer_uid === phone ? { platform: 'iOS' } : {}) })))
  await happen([{ event_name: 'go', customer_uid: payer }, { event_name: 'go' }])
  await advance('PT2H')
  await happen([{ event_name: 'paid', customer_uid: payer }])
  const [open] = (await fixture.runs(id, `&filter[user_id]=${other}`)).map(run => run.id)
  expect((await fixture.call('POST', `/v4/automation-runs/${open}/cancel`)).status).toBe(200)
  await advance('P2D')
  const [ended] = await fixture.runs(id, `&filter[user_id]=${phone}`)
  expect((await fixture.call('POST', `${ended.url}/replay`, { body: { from_step: 'converts' } })).status).toBe(201)
  await put(id, { name: 'A', status: 'active', data: { initiators: on('go'), steps: [...STEPS, ...LONG], reentry: false } })
  await happen([{ event_name: 'go', customer_uid: payer }])

  const answer = await counts(id)
  expect(answer).toMatchObject({ object: 'automation_step_counts', url: `${url}/step-counts`, is_complete: true })
  expect(flattened(answer)).toEqual(await countedOneByOne(id))
  expect(flattened(answer)).toMatchObject({
    '1 started': 5,
    '1 replays': 1,
    '1 skipped no_user': 1,
    '1 skipped already_running': 1,
    '1 settle reached': 4,
    '1 converts reached': 5,
    '1 converts > event': 1,
    '1 converts > timeout': 2,
    '1 converts cancelled': 1,
    '1 converts waiting': 1,
    '1 phone > then': 1,
    '1 phone > else': 1,
    '1 mark ended': 1,
    '2 settle waiting': 1,
  })
  expect(answer.data.map(({ version }: Answer) => version)).toEqual([2, 1])
  expect((await counts(id, '?version=2')).data).toEqual([answer.data[0]])
  expect((await counts(id, '?to=2020-01-01T00:00:00Z')).data).toEqual([])
})

test('a window of counts is at most 90 days and not turned round', async () => {
  const { id } = await fixture.automation()
  const refused = async (query: string) => {
    const { status, body } = await fixture.call('GET', `/v4/automations/${id}/step-counts?${query}`)
    return [status, body.error.details[0].field]
  }
  expect(await refused('from=2026-01-01T00:00:00Z&to=2026-06-01T00:00:00Z')).toEqual([400, 'to'])
  expect(await refused('from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z')).toEqual([400, 'to'])
  expect((await fixture.call('GET', '/v4/automations/auto_none/step-counts')).status).toBe(404)
})

test('the list has what each automation did in 24 hours; a failure counts by its end', { timeout: 60_000 }, async () => {
  const hook = await fixture.create('/v4/integrations', { integration: 'webhooks', title: 'Hook', target_platform: 'iOS' })
  const steps = [
    { id: 'wait', type: 'delay', duration: 'P3D' },
    { id: 'hook', type: 'webhook', integration_id: hook.id },
  ]
  const busy = await fixture.automation({ steps })
  const quiet = await fixture.automation({ initiators: on('never') }, 'paused')
  const user = await fixture.user()
  await happen([{ event_name: 'go', customer_uid: user }, { event_name: 'go' }])
  const [first] = await fixture.runs(busy.id)
  const listed = async (query = '') => (await get(`/v4/automations${query}`)).data as Answer[]
  const activityOf = async (id: string) => (await listed()).find(one => one.id === id).activity
  expect(await activityOf(busy.id)).toMatchObject({ runs: 1, skipped: 1, failed: 0, is_complete: true, last_run_at: first.created_at })
  expect(await activityOf(quiet.id)).toMatchObject({ runs: 0, skipped: 0, failed: 0, last_run_at: null, is_cancelling: false })
  await api.pool.query(`update integrations set deleted_at = now() where id = $1`, [hook.id])
  await advance('P3DT1H')
  expect(await activityOf(busy.id)).toMatchObject({ runs: 0, skipped: 0, failed: 1, last_run_at: first.created_at })
  expect((await get(busy.url)).activity).toEqual(await activityOf(busy.id))
  await advance('P1D')
  expect(await activityOf(busy.id)).toMatchObject({ failed: 0 })

  const ids = async (query: string) => (await listed(query)).map(({ id }) => id)
  expect(await ids('?filter[status][]=paused')).toEqual([quiet.id])
  expect(await ids('?filter[status][]=paused&filter[status][]=active&filter[event]=go')).toEqual([busy.id])
  expect(await ids('?filter[event]=nobody_names_it')).toEqual([])
})

test('a version is kept with its time and who stored it', async () => {
  const { id, data, url } = await fixture.automation()
  for (const caption of ['b', 'c'])
    expect((await put(id, { name: 'A', status: 'active', caption, data: { ...data, reentry: caption === 'b' && false } })).status).toBe(200)
  await put(id, { name: 'A', status: 'active', data: { ...data, platform: 'iOS' } })
  const all = await get(`${url}/versions`)
  expect(all).toMatchObject({ object: 'list', url: `${url}/versions`, has_more: false })
  expect(all.data.map(({ version, is_current, data: of }: Answer) => [version, is_current, of.platform, of.reentry])).toEqual([
    [3, true, 'iOS', true],
    [2, false, null, false],
    [1, false, null, true],
  ])
  const actor = { kind: 'secret_key', id: fixture.project.sandbox.slice(-4) }
  for (const version of all.data) expect(version).toMatchObject({ created_by: actor, created_at: expect.stringMatching(/Z$/) })
  const first = await get(`${url}/versions?limit=2`)
  expect(first.next_cursor).toBe('2')
  expect((await get(`${url}/versions?limit=2&starting_after=2`)).data).toEqual(all.data.slice(2))
  const restarted = await fixture.call('GET', `${url}/versions?starting_after=none`)
  expect([restarted.body.data.length, restarted.headers.get('x-qon-pagination-restarted')]).toEqual([3, 'true'])
})

test('who sends the updated_at of an older state changes nothing', async () => {
  const { id, data, updated_at, url } = await fixture.automation()
  const saved = (name: string, of: string) => put(id, { name, status: 'active', data, updated_at: of })
  const mine = await saved('Mine', updated_at)
  expect(mine.status).toBe(200)
  // Also within one second.
  expect(Date.parse(mine.body.updated_at)).toBeGreaterThan(Date.parse(updated_at))
  const refused = await saved('Theirs', updated_at)
  expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
  await fixture.setStatus(id, 'paused')
  expect((await saved('Theirs', mine.body.updated_at)).status).toBe(409)
  expect(await get(url)).toMatchObject({ name: 'Mine', status: 'paused' })
})
