import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApi, type TestApi } from '../harness/api.ts'
import { unique } from '../harness/resource-makers.ts'
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

const rowsOf = async (table: string) => (await api.pool.query(`select * from ${table} where environment = $1`, [g.environment])).rows

describe('the status', () => {
  test('may become any other; the same changes nothing', async () => {
    const { id } = await g.automation({}, 'inactive')
    for (const status of ['paused', 'active', 'inactive', 'active', 'paused', 'inactive', 'inactive']) {
      const answer = await g.setStatus(id, status)
      expect([answer.status, answer.text]).toEqual([204, ''])
      expect((await g.call('GET', `/v4/automations/${id}`)).body.status).toBe(status)
    }
    const { rows } = await api.pool.query(
      `select count(*)::int from audit_log where operation = 'v4UpdateAutomationStatus' and environment = $1`,
      [g.environment],
    )
    expect(rows).toEqual([{ count: 6 }])
  })

  test.each([
    ['PATCH', 'automation_inactive'],
    ['PUT', 'automation_inactive'],
    ['DELETE', 'automation_deleted'],
  ])('set inactive, or the automation deleted: %s cancels what is unfinished, its steps and its waits', async (method, reason) => {
    const user = await g.user()
    const { id, url, data } = await g.automation()
    const other = await g.automation()
    await g.tell([{ event_name: 'go', customer_uid: user }, { event_name: 'go', customer_uid: user }, { event_name: 'go' }])
    await g.read()
    // As a worker leaves a run that waits for an event.
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
      [rows[0].number, g.environment, user],
    )
    const body = method === 'PUT' ? { name: 'A', status: 'inactive', data } : { status: 'inactive' }
    const path = method === 'PATCH' ? `${url}/status` : url
    expect((await g.call(method, path, method === 'DELETE' ? {} : { body })).status).toBeLessThan(300)
    const ended = await api.pool.query(
      'select status, reason, finished_at is not null as ended from automation_runs where automation_id = $1 order by number',
      [id],
    )
    expect(ended.rows.filter(run => run.status === 'cancelled')).toEqual([
      { status: 'cancelled', reason, ended: true },
      { status: 'cancelled', reason, ended: true },
    ])
    expect(ended.rows.filter(run => run.status !== 'cancelled')).toEqual([{ status: 'skipped', reason: 'no_user', ended: true }])
    const shown = await g.call('GET', `/v4/automation-runs/${rows[0].id}`)
    expect(shown.body.steps.map((step: { status: string }) => step.status)).toEqual(['succeeded', 'cancelled'])
    expect(await rowsOf('event_waits')).toEqual([])
    // Those of the other automation alone.
    expect((await g.runs(other.id, '&filter[status][]=pending')).length).toBe(2)
    const due = (await rowsOf('due')).filter(row => row.kind === 'automation-run')
    expect(due.length).toBe(2)
  })

  test('paused and active again lets go what was held, for when it was due', async () => {
    const user = await g.user()
    const { id } = await g.automation()
    await g.tell([{ event_name: 'go', customer_uid: user }])
    await g.read()
    await g.setStatus(id, 'paused')
    // As a worker puts aside what falls due meanwhile.
    await api.pool.query(`update due set due_at = due_at + interval '1 day' where environment = $1 and kind = 'automation-run'`, [
      g.environment,
    ])
    await g.setStatus(id, 'active')
    const { rows } = await api.pool.query(
      `select d.due_at = r.due_at as promised from due d join automation_runs r on r.number = d.id where d.kind = 'automation-run' and r.automation_id = $1`,
      [id],
    )
    expect(rows).toEqual([{ promised: true }])
  })
})

type Thing = { kind: string; make: () => Promise<string>; path: string; data: (id: string) => object }
const step = (fields: object) => ({
  initiators: on('go'),
  steps: [{ id: 'b', type: 'branch', conditions: [], else: [{ id: 'x', ...fields }] }],
})
const things: Thing[] = [
  { kind: 'screen of a step', make: () => g.screen(), path: '/v4/screens', data: screen => step({ type: 'screen', screen }) },
  {
    kind: 'screen of the actions',
    make: () => g.screen(),
    path: '/v4/screens',
    data: screen => ({ initiators: on('go'), actions: { screen } }),
  },
  {
    kind: 'segment',
    make: async () => (await g.made('/v4/segments', { name: 'S' })).id,
    path: '/v4/segments',
    data: segments => ({ initiators: on('go'), steps: LONG, segments }),
  },
  {
    kind: 'push of a step',
    make: async () => (await g.made('/v4/pushes', { name: 'P', body: 'B' })).id,
    path: '/v4/pushes',
    data: push => step({ type: 'push', push }),
  },
  {
    kind: 'push of the actions',
    make: async () => (await g.made('/v4/pushes', { name: 'P', body: 'B' })).id,
    path: '/v4/pushes',
    data: push => ({ initiators: on('go'), actions: { push } }),
  },
  {
    kind: 'integration',
    make: async () => (await g.made('/v4/integrations', { integration: 'webhooks', title: 'W', target_platform: 'iOS' })).id,
    path: '/v4/integrations',
    data: integration_id => step({ type: 'webhook', integration_id }),
  },
  {
    kind: 'entitlement',
    make: async () => (await g.made('/v4/entitlements', { id: unique('right') })).id,
    path: '/v4/entitlements',
    data: entitlement_id => step({ type: 'grant_entitlement', entitlement_id, duration: null }),
  },
]

describe.each(things)('the $kind', ({ make, path, data }) => {
  const remove = (id: string) => g.call('DELETE', `${path}/${id}`)
  const withData = (whole: object, status: string) => g.made('/v4/automations', { name: 'A', status, data: whole })

  test('cannot be deleted while an active or paused automation names it', async () => {
    const id = await make()
    const { id: automation } = await withData(data(id), 'active')
    for (const status of ['active', 'paused']) {
      await g.setStatus(automation, status)
      const answer = await remove(id)
      expect([answer.status, answer.body.error.code]).toEqual([409, 'conflict'])
    }
    await g.call('PUT', `/v4/automations/${automation}`, {
      body: { name: 'A', status: 'active', data: { initiators: on('go'), steps: LONG } },
    })
    // A former version names it still.
    expect((await remove(id)).status).toBe(204)
  })

  test('that is gone keeps its automation from becoming active', async () => {
    const id = await make()
    const named = data(id)
    const { id: automation, url } = await withData(named, 'inactive')
    expect((await remove(id)).status).toBe(204)
    expect((await g.setStatus(automation, 'paused')).status).toBe(204)
    expect((await g.setStatus(automation, 'active')).status).toBe(409)
    expect((await g.call('PUT', url, { body: { name: 'A', status: 'active', data: named } })).status).toBe(409)
    expect((await g.call('GET', url)).body.status).toBe('paused')
    expect((await g.call('PUT', url, { body: { name: 'A', status: 'inactive', data: named } })).status).toBe(404)
  })

  test('is either deleted or named, never both, whoever is first', async () => {
    for (let n = 0; n < 5; n++) {
      const id = await make()
      const [removed, made] = await Promise.all([
        remove(id),
        g.call('POST', '/v4/automations', { body: { name: 'A', status: 'active', data: data(id) } }),
      ])
      expect([
        [204, 404],
        [409, 201],
      ]).toContainEqual([removed.status, made.status])
    }
  })
})

test('an automation whose branch names a segment that is gone cannot become active', async () => {
  const { id: segment } = await g.made('/v4/segments', { name: 'S' })
  const steps = [{ id: 'b', type: 'branch', conditions: [{ metric: 'segment', comparator: 'eq', value: segment }] }]
  const { id } = await g.automation({ steps }, 'inactive')
  expect((await g.call('DELETE', `/v4/segments/${segment}`)).status).toBe(204)
  expect((await g.setStatus(id, 'active')).status).toBe(409)
})
