import { afterEach, expect, test, vi } from 'vitest'
import { type Installation, startInstallation } from '../harness/installation.ts'
import { type Hook, hook, must, post } from '../harness/integrations.ts'
import { jump } from '../harness/jump.ts'
import { times } from '../harness/receiver.ts'
import { reportTo, type Shown } from '../harness/reports.ts'

// Processes start and four weeks are gone through, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 240_000 })

const DAY = 86_400_000
const DAYS = 28
const opened = (identity_id: string) => ({ identity_id, event_name: 'opened', price: undefined, currency: undefined, platform: 'iOS' })

let site: Installation
const hooks: Hook[] = []
afterEach(async () => {
  await site.end()
  for (const { receiver } of hooks.splice(0)) await receiver.close()
})

const automation = (name: string, steps: object[]) =>
  must(site.sandbox, 'POST', '/v4/automations', {
    name,
    status: 'active',
    data: { initiators: [{ uid: 'opened', type: 'event' }], actions: {}, steps },
  })

const runsOf = async (id: string): Promise<Shown[]> =>
  (
    await site.pool.query(
      'select status, reason, received_at, finished_at from automation_runs where automation_id = $1 order by received_at',
      [id],
    )
  ).rows

test('four weeks in one go, with three workers: runs, retries and every slot of a report once and in their time; what is paused waits', async () => {
  site = await startInstallation({ driver: 'pg-boss', leaseSeconds: 30 })
  const call = site.sandbox
  await Promise.all([site.worker(), site.worker(), site.worker()])
  const events = await hook({ call, config: { events: ['*'] } })
  const steps = await hook({ call, config: { events: [] } })
  hooks.push(events, steps)
  const winBack = await automation('Win back', [
    { id: 'wait', type: 'delay', duration: 'P9D' },
    { id: 'tell', type: 'webhook', integration_id: steps.id },
    { id: 'again', type: 'delay', duration: 'P18D' },
    { id: 'last', type: 'set_property', key: 'last', value: 'yes' },
  ])
  const paused = await automation('Paused', [
    { id: 'short', type: 'delay', duration: 'P5D' },
    { id: 'late', type: 'webhook', integration_id: steps.id },
  ])
  const report = await must(call, 'POST', '/v4/scheduled-reports', reportTo([steps.id], { included_range_days: 7 }))
  for (const who of ['ada', 'bob']) {
    await post(call, opened(who))
    await jump(call, DAY / 4)
  }
  await must(call, 'PATCH', `/v4/automations/${paused.id}/status`, { status: 'paused' })
  events.receiver.script = times(3, { status: 500 })
  await post(call, { ...opened('cyd'), event_name: 'closed' })
  await events.become('delivered', 'delivered', 'retrying')

  await jump(call, DAYS * DAY)

  await events.become('delivered', 'delivered', 'delivered')
  const [, , retried] = await events.deliveries()
  expect(retried.attempt_count).toBe(4)
  expect(events.receiver.events().map(({ headers }) => headers['webhook-id'])).toEqual([
    ...(await events.deliveries()).slice(0, 2).map(({ id }) => id),
    ...Array(4).fill(retried.id),
  ])

  const runs = await runsOf(winBack.id)
  expect(runs.map(({ status, reason }) => [status, reason])).toEqual(Array(2).fill(['succeeded', null]))
  for (const { received_at, finished_at } of runs) {
    const days = (Date.parse(finished_at) - Date.parse(received_at)) / DAY
    expect(days).toBeGreaterThanOrEqual(27)
    // At its time, not when somebody came to it.
    expect(days).toBeLessThan(27.1)
  }
  const byAutomations = () => steps.receiver.events().filter(({ body }) => body.automation)
  expect(byAutomations().map(({ body }) => body.identity_id)).toEqual(['ada', 'bob'])

  expect((await runsOf(paused.id)).map(({ status }) => status)).toEqual(['waiting', 'waiting'])
  await must(call, 'PATCH', `/v4/automations/${paused.id}/status`, { status: 'active' })
  await jump(call, 1000)
  expect((await runsOf(paused.id)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded'])
  expect(byAutomations().map(({ headers }) => headers['webhook-id'])).toHaveLength(4)
  expect(new Set(byAutomations().map(({ headers }) => headers['webhook-id'])).size).toBe(4)

  const slots: Shown[] = (await must(call, 'GET', `/v4/scheduled-reports/${report.id}/runs?limit=100`)).data.reverse()
  expect(slots.length).toBeGreaterThanOrEqual(DAYS)
  // A week after the last event the files are empty, and are sent all the same.
  const full = slots.filter(({ outcome }) => outcome === 'delivered')
  expect(full.length).toBeGreaterThanOrEqual(6)
  expect(slots.map(({ status, outcome }) => [status, outcome])).toEqual(
    slots.map((_, day) => ['finished', day < full.length ? 'delivered' : 'empty']),
  )
  const first = Date.parse(slots[0].slot)
  expect(slots.map(({ slot }) => Date.parse(slot))).toEqual(slots.map((_, day) => first + day * DAY))
  const arrived = steps.receiver.events().filter(({ body }) => body.run_id)
  expect(arrived.map(({ body }) => body.run_id)).toEqual(slots.map(({ id }) => id))
  expect(new Set(arrived.map(({ headers }) => headers['webhook-id'])).size).toBe(slots.length)
  const { data } = await must(call, 'GET', '/v4/ledger?from=2026-01-01T00:00:00Z')
  for (const { kind, promised, kept, broken, declined, outstanding, overdue } of data)
    expect([kind, kept + declined, broken, outstanding, overdue]).toEqual([kind, promised, 0, 0, 0])
  expect((await call('GET', '/readyz')).body).toEqual({ status: 'ok' })
})
