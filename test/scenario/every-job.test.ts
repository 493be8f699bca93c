import { afterAll, beforeAll, expect, test } from 'vitest'
import { repairOrphans } from '../../domain/oversight/reconciliation/orphans.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { advance, type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'
import { reportTo } from '../harness/reports.ts'
import { tracesOf } from '../harness/traces.ts'

// One sandbox with jobs of every kind, advanced through time by its clock.
let api: TestApi
let call: ReturnType<typeof sandbox>
let events: Hook
let steps: Hook
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
  events = await hook({ call, config: { events: ['*'] } })
  steps = await hook({ call, config: { events: [] } })
})
afterAll(async () => {
  await Promise.all([events.receiver.close(), steps.receiver.close()])
  await api.stop()
})

const opened = { event_name: 'opened', price: undefined, currency: undefined, platform: 'iOS' }
const WINDOW = { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-02-01T00:00:00Z' }
// biome-ignore lint/suspicious/noExplicitAny: the server validates its responses
async function ledger(query = ''): Promise<any> {
  const { data } = await must(call, 'GET', `/v4/ledger${query}`)
  return Object.fromEntries(data.map(({ kind, ...entry }: { kind: string }) => [kind, entry]))
}
const since = () => `?from=${new Date(Date.now() - 3_600_000).toISOString()}`

test('every job is executed at its time, and the ledger and the clock report the same outcomes', async () => {
  const automation = await must(call, 'POST', '/v4/automations', {
    name: 'Win back',
    status: 'active',
    data: {
      initiators: [{ uid: 'opened', type: 'event' }],
      actions: {},
      steps: [
        {
          id: 'wait',
          type: 'wait_for_event',
          event: 'closed',
          timeout: 'P2D',
          on_timeout: [{ id: 'tell', type: 'webhook', integration_id: steps.id }],
        },
      ],
    },
  })
  await must(call, 'POST', '/v4/scheduled-reports', reportTo([steps.id]))
  await must(call, 'POST', '/v4/exports', WINDOW)
  await post(call, { ...opened, identity_id: 'ada' }, { ...opened, identity_id: 'bob' }, { ...opened, identity_id: undefined })
  await post(call, { ...opened, event_name: 'closed', identity_id: 'bob' })
  // The receiver is down when the events arrive.
  events.receiver.script = Array.from({ length: 3 }, () => ({ status: 500 }))

  const first = await advance(call, 'PT1S')
  expect(first.outstanding).toBe(0)
  const before = await ledger(since())
  // Bob's event ended his wait, the run without user was skipped, and ada's run waits.
  expect(before).toMatchObject({ automation_runs: { promised: 3, kept: 1, declined: 1, outstanding: 1 }, exports: { kept: 1 } })
  const second = await advance(call, 'P4D')
  expect(second.outstanding).toBe(0)
  const all = await ledger(since())
  expect(all).toMatchObject({
    automation_runs: {
      promised: 3,
      kept: 2,
      declined: 1,
      outstanding: 0,
      outcomes: { succeeded: 2, skipped: 1 },
      reasons: { no_user: 1 },
      overdue: 0,
    },
    exports: { promised: 1, kept: 1, outstanding: 0 },
    deliveries: { promised: 5, kept: 5, outcomes: { delivered: 5 }, outstanding: 0 },
    report_slots: { outstanding: 0, broken: 0, overdue: 0 },
  })
  expect(all.report_slots.promised).toBeGreaterThanOrEqual(4)
  expect(all.report_slots.kept).toBe(all.report_slots.promised)
  const ended = (entry: Record<string, number>) => entry.promised! - entry.outstanding!
  for (const kind of ['report_slots', 'automation_runs', 'deliveries', 'exports'])
    expect(second.drained[kind], kind).toBe(ended(all[kind]) - ended(before[kind]))
  expect(steps.receiver.events().filter(({ body }) => body.automation)).toHaveLength(1)
  expect(await repairOrphans(api.pool, new Map(), 1000)).toEqual([])
  expect((await call('GET', '/readyz')).body).toMatchObject({ overdue: 0, orphans: 0, set_aside: 0 })
  await must(call, 'DELETE', `/v4/automations/${automation.id}`)
})

test('a delivery to a dead receiver fails after all its attempts, and the clock waits for each attempt', async () => {
  events.receiver.otherwise = { status: 503 }
  await must(call, 'POST', `/v4/integrations/${events.id}/status`, { status: 1 })
  await post(call, { ...opened, identity_id: 'cyd' })
  const { drained, outstanding } = await advance(call, 'P3D')
  expect({ outstanding, deliveries: drained.deliveries }).toEqual({ outstanding: 0, deliveries: 1 })
  const [last] = (await events.deliveries()).slice(-1)
  expect(last).toMatchObject({ status: 'failed', reason: 'exhausted', attempt_count: 7 })
  events.receiver.otherwise = { status: 200 }
})

test('erasing a customer removes all jobs of the customer; open runs and deliveries count as declined', async () => {
  const automation = await must(call, 'POST', '/v4/automations', {
    name: 'For dan',
    status: 'active',
    data: {
      initiators: [{ uid: 'opened', type: 'event' }],
      actions: {},
      steps: [
        { id: 'who', type: 'branch', conditions: [{ metric: 'client_uid', comparator: 'eq', value: 'placeholder' }] },
        { id: 'tell', type: 'webhook', integration_id: steps.id },
        { id: 'wait', type: 'delay', duration: 'P2D' },
      ],
    },
  })
  await post(call, { ...opened, event_name: 'hello', identity_id: 'dan' })
  const { user_id: user } = await must(call, 'GET', '/v4/identities/dan')
  const data = {
    ...automation.data,
    steps: [
      { ...automation.data.steps[0], conditions: [{ metric: 'client_uid', comparator: 'eq', value: user }] },
      ...automation.data.steps.slice(1),
    ],
  }
  await must(call, 'PUT', `/v4/automations/${automation.id}`, { name: 'For dan', status: 'active', data })
  await advance(call, 'PT1S')
  const before = await ledger(since())
  await must(call, 'POST', `/v4/integrations/${events.id}/status`, { status: 0 })
  await post(call, { ...opened, identity_id: 'dan' }, { ...opened, identity_id: 'eve' }, { ...opened, identity_id: 'dan' })
  await advance(call, 'PT1S')
  const [run] = (await must(call, 'GET', `/v4/automations/${automation.id}/runs?filter[user_id]=${user}`)).data
  await must(call, 'POST', `/v4/automation-runs/${run.id}/cancel`)
  await must(call, 'POST', `/v4/automation-runs/${run.id}/replay`)
  await advance(call, 'PT1S')
  const meanwhile = await ledger(since())
  expect((await tracesOf(api.pool, user)).length).toBeGreaterThan(6)

  expect((await call('DELETE', `/v4/customers/${user}`)).status).toBe(204)

  expect(await tracesOf(api.pool, user)).toEqual([])
  const after = await ledger(since())
  for (const kind of ['automation_runs', 'deliveries']) {
    expect(after[kind].promised, kind).toBe(meanwhile[kind].promised)
    expect(after[kind].reasons.user_deleted, kind).toBe(2)
    expect(after[kind].outstanding - (before[kind].outstanding ?? 0), kind).toBe(1)
  }
  const { outstanding } = await advance(call, 'P3D')
  expect(outstanding).toBe(0)
  // Eve's run has ended; the delivery of her event waits for the paused integration.
  expect(
    (await ledger(`?from=${new Date(Date.now()).toISOString()}&to=${new Date(Date.now() + 364 * 86_400_000).toISOString()}`)).deliveries
      .overdue,
  ).toBe(0)
  expect(await repairOrphans(api.pool, new Map(), 1000)).toEqual([])
  expect(await tracesOf(api.pool, user)).toEqual([])
})
