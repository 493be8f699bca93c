import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { unique } from '../harness/resource-makers.ts'
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

const rowsOf = async (table: string) => (await api.pool.query(`select * from ${table} where environment = $1`, [fixture.environment])).rows

describe('the status', () => {
  test('can change to any other; the same status changes nothing', async () => {
    const { id } = await fixture.automation({}, 'inactive')
    for (const status of ['paused', 'active', 'inactive', 'active', 'paused', 'inactive', 'inactive']) {
      const answer = await fixture.setStatus(id, status)
      expect([answer.status, answer.text]).toEqual([204, ''])
      expect((await fixture.call('GET', `/v4/automations/${id}`)).body.status).toBe(status)
    }
    const { rows } = await api.pool.query(
      `select count(*)::int from audit_log where operation = 'v4UpdateAutomationStatus' and environment = $1`,
      [fixture.environment],
    )
    expect(rows).toEqual([{ count: 6 }])
  })

  test.each([
    ['PATCH', 'automation_inactive'],
    ['PUT', 'automation_inactive'],
    ['DELETE', 'automation_deleted'],
  ])('or a deletion by %s cancels unfinished runs, their steps and their waits', async (method, reason) => {
    const user = await fixture.user()
    const { id, url, data } = await fixture.automation()
    const other = await fixture.automation()
    await fixture.post([{ event_name: 'go', customer_uid: user }, { event_name: 'go', customer_uid: user }, { event_name: 'go' }])
    await fixture.read()
    // Puts a run into the state in which a worker leaves it during a wait for an event.
    const { rows } = await api.pool.query(
      'select number, id from automation_runs where automation_id = $1 and status = $2 order by number',
      [id, 'pending'],
    )
    await api.pool.query(`update automation_runs set status = 'waiting' where number = $1`, [rows[0].number])
    await api.pool.query(
      `insert into automation_steps (run, n, step_id, type, status, started_at, finished_at) values
         ($1, 0, 'done', 'exit', 'succeeded', now(), now()), ($1, 1, 'w', 'wait_for_event', 'waiting', now(), null)`,
      [rows[0].number],
    )
    await api.pool.query(
      `insert into event_waits (run, environment, user_id, event_name, after_offset, deadline) values ($1, $2, $3, 'x', 0, now())`,
      [rows[0].number, fixture.environment, user],
    )
    const body = method === 'PUT' ? { name: 'A', status: 'inactive', data } : { status: 'inactive' }
    const path = method === 'PATCH' ? `${url}/status` : url
    expect((await fixture.call(method, path, method === 'DELETE' ? {} : { body })).status).toBeLessThan(300)
    const ended = await api.pool.query(
      'select status, reason, finished_at is not null as ended from automation_runs where automation_id = $1 order by number',
      [id],
    )
    expect(ended.rows.filter(run => run.status === 'cancelled')).toEqual([
      { status: 'cancelled', reason, ended: true },
      { status: 'cancelled', reason, ended: true },
    ])
    expect(ended.rows.filter(run => run.status !== 'cancelled')).toEqual([{ status: 'skipped', reason: 'no_user', ended: true }])
    const shown = await fixture.call('GET', `/v4/automation-runs/${rows[0].id}`)
    expect(shown.body.steps.map((step: { status: string }) => step.status)).toEqual(['succeeded', 'cancelled'])
    expect(await rowsOf('event_waits')).toEqual([])
    // Only the runs of the other automation are left.
    expect((await fixture.runs(other.id, '&filter[status][]=pending')).length).toBe(2)
    const due = (await rowsOf('due')).filter(row => row.kind === 'automation-run')
    expect(due.length).toBe(2)
  })

  test('active after paused restores the due time of parked runs; a time that is over is now', async () => {
    const user = await fixture.user()
    const { id } = await fixture.automation()
    await fixture.post([{ event_name: 'go', customer_uid: user }])
    await fixture.read()
    await fixture.setStatus(id, 'paused')
    // Parks the run as a worker does when it becomes due during the pause.
    await api.pool.query(`update due set due_at = due_at + interval '1 day' where environment = $1 and kind = 'automation-run'`, [
      fixture.environment,
    ])
    await fixture.setStatus(id, 'active')
    const { rows } = await api.pool.query(
      `select d.due_at between r.due_at and clock_timestamp() as promised from due d join automation_runs r on r.number = d.id where d.kind = 'automation-run' and r.automation_id = $1`,
      [id],
    )
    expect(rows).toEqual([{ promised: true }])
  })
})

type Reference = { kind: string; make: () => Promise<string>; path: string; data: (id: string) => object }
const step = (fields: object) => ({
  initiators: on('go'),
  steps: [{ id: 'b', type: 'branch', conditions: [], else: [{ id: 'x', ...fields }] }],
})
const references: Reference[] = [
  { kind: 'screen of a step', make: () => fixture.screen(), path: '/v4/screens', data: screen => step({ type: 'screen', screen }) },
  {
    kind: 'screen of the actions',
    make: () => fixture.screen(),
    path: '/v4/screens',
    data: screen => ({ initiators: on('go'), actions: { screen } }),
  },
  {
    kind: 'segment',
    make: async () => (await fixture.create('/v4/segments', { name: 'S' })).id,
    path: '/v4/segments',
    data: segments => ({ initiators: on('go'), steps: LONG, segments }),
  },
  {
    kind: 'push of a step',
    make: async () => (await fixture.create('/v4/pushes', { name: 'P', body: 'B' })).id,
    path: '/v4/pushes',
    data: push => step({ type: 'push', push }),
  },
  {
    kind: 'push of the actions',
    make: async () => (await fixture.create('/v4/pushes', { name: 'P', body: 'B' })).id,
    path: '/v4/pushes',
    data: push => ({ initiators: on('go'), actions: { push } }),
  },
  {
    kind: 'integration',
    make: async () => (await fixture.create('/v4/integrations', { integration: 'webhooks', title: 'W', target_platform: 'iOS' })).id,
    path: '/v4/integrations',
    data: integration_id => step({ type: 'webhook', integration_id }),
  },
  {
    kind: 'entitlement',
    make: async () => (await fixture.create('/v4/entitlements', { id: unique('right') })).id,
    path: '/v4/entitlements',
    data: entitlement_id => step({ type: 'grant_entitlement', entitlement_id, duration: null }),
  },
]

describe.each(references)('the $kind', ({ make, path, data }) => {
  const remove = (id: string) => fixture.call('DELETE', `${path}/${id}`)
  const withData = (whole: object, status: string) => fixture.create('/v4/automations', { name: 'A', status, data: whole })

  test('cannot be deleted while an active or paused automation refers to it', async () => {
    const id = await make()
    const { id: automation } = await withData(data(id), 'active')
    for (const status of ['active', 'paused']) {
      await fixture.setStatus(automation, status)
      const answer = await remove(id)
      expect([answer.status, answer.body.error.code]).toEqual([409, 'conflict'])
    }
    await fixture.call('PUT', `/v4/automations/${automation}`, {
      body: { name: 'A', status: 'active', data: { initiators: on('go'), steps: LONG } },
    })
    // A former version still refers to it.
    expect((await remove(id)).status).toBe(204)
  })

  test('that is deleted prevents its automation from becoming active', async () => {
    const id = await make()
    const named = data(id)
    const { id: automation, url } = await withData(named, 'inactive')
    expect((await remove(id)).status).toBe(204)
    expect((await fixture.setStatus(automation, 'paused')).status).toBe(204)
    expect((await fixture.setStatus(automation, 'active')).status).toBe(409)
    expect((await fixture.call('PUT', url, { body: { name: 'A', status: 'active', data: named } })).status).toBe(409)
    expect((await fixture.call('GET', url)).body.status).toBe('paused')
    expect((await fixture.call('PUT', url, { body: { name: 'A', status: 'inactive', data: named } })).status).toBe(404)
  })

  test('is either deleted or referred to, never both, whichever request is first', async () => {
    for (let n = 0; n < 5; n++) {
      const id = await make()
      const [removed, created] = await Promise.all([
        remove(id),
        fixture.call('POST', '/v4/automations', { body: { name: 'A', status: 'active', data: data(id) } }),
      ])
      expect([
        [204, 404],
        [409, 201],
      ]).toContainEqual([removed.status, created.status])
    }
  })
})

test('an automation whose branch refers to a deleted segment cannot become active', async () => {
  const { id: segment } = await fixture.create('/v4/segments', { name: 'S' })
  const steps = [{ id: 'b', type: 'branch', conditions: [{ metric: 'segment', comparator: 'eq', value: segment }] }]
  const { id } = await fixture.automation({ steps }, 'inactive')
  expect((await fixture.call('DELETE', `/v4/segments/${segment}`)).status).toBe(204)
  expect((await fixture.setStatus(id, 'active')).status).toBe(409)
})
