// Everything that the service does and that apps ask of it, once: for tests of what its statements read.
import { DateTime, Duration } from 'luxon'
import { expect } from 'vitest'
import { repairOrphans } from '../../domain/oversight/reconciliation/orphans.ts'
import { dropExpired } from '../../domain/oversight/reconciliation/retention.ts'
import { shopOf } from '../v3/shop.ts'
import type { TestApi } from './api.ts'
import { operations } from './described.ts'
import { hook, must, post, sandbox } from './integrations.ts'
import { ENDS_KEY, operationRequests, requestsIn } from './operation-requests.ts'
import { reportTo } from './reports.ts'
import { unique } from './resource-makers.ts'

type Call = ReturnType<typeof sandbox>

const OF_PROJECT = ['Project Settings']

/** On a loaded machine an advance may take longer than a request may, and the clock, which goes on meanwhile, may pass the target. */
async function advance(call: Call, by: string): Promise<void> {
  const { now } = await must(call, 'GET', '/v4/test-clock')
  const to = DateTime.fromISO(now, { zone: 'utc' }).plus(Duration.fromISO(by)).toISO()
  const go = (body: { to: string | null } | { by: string }) => call('POST', '/v4/test-clock/advance', { body })
  let answer = await go({ to })
  while (answer.status === 504) answer = await go({ to })
  if (answer.status === 400) answer = await go({ by: 'PT1S' })
  while (answer.status === 504) answer = await go({ by: 'PT1S' })
  expect(answer.status, answer.text).toBe(200)
}

/** Every operation, once, but the one that empties the environment. */
async function callAll(api: TestApi, call: Call): Promise<void> {
  for (const operation of operations) {
    // No key opens what is for the MCP server alone.
    if (operation.id === 'v4ResetTestClock' || operation.auth === 'oauth-only') continue
    const isOfProject = ENDS_KEY.includes(operation.id) || OF_PROJECT.includes(operation.tag)
    const requests = isOfProject ? await requestsIn(api, operation) : operationRequests(api, api.project.sandbox)
    // The week of its example has the statements of a day.
    if (operation.id === 'v4AdvanceTestClock') {
      await advance(call, 'P1D')
      continue
    }
    const answer = await requests.send(operation, await requests.example(operation))
    expect(answer.status, `${operation.id}: ${answer.text}`).toBe(operation.success)
  }
}

/** Jobs of every kind through their lives: executed, failed, held, replayed, parked, cancelled, erased and forgotten. */
async function liveThrough(call: Call): Promise<void> {
  const events = await hook({ call, config: { events: ['*'] } })
  const automationHook = await hook({ call, config: { events: [] } })
  const [opened, closed] = [unique('opened'), unique('closed')]
  const steps = [
    { id: 'tell', type: 'webhook', integration_id: automationHook.id },
    { id: 'wait', type: 'wait_for_event', event: closed, timeout: 'PT2H', on_timeout: [{ id: 'late', type: 'exit' }] },
    { id: 'mark', type: 'set_property', key: 'mark', value: 'yes' },
    { id: 'rest', type: 'delay', duration: 'PT1H' },
  ]
  const definition = { initiators: [{ uid: opened, type: 'event' }], actions: {}, frequency: { max_runs_per_user: 50, per: 'day' }, steps }
  const body = { name: unique('automation'), status: 'active', data: definition }
  const automation = await must(call, 'POST', '/v4/automations', body)
  const url = `/v4/automations/${automation.id}`
  const put = (status: string) => must(call, 'PUT', url, { ...body, status })
  await must(call, 'POST', '/v4/scheduled-reports', reportTo([automationHook.id]))
  const people = Array.from({ length: 5 }, () => unique('person'))
  const each = (event_name: string) =>
    post(call, ...people.map(identity_id => ({ event_name, identity_id, platform: 'iOS', price: undefined, currency: undefined })))
  await each(opened)
  await must(call, 'POST', '/v4/exports', { from_timestamp: '2026-01-01T00:00:00Z', to_timestamp: '2026-02-01T00:00:00Z' })
  events.receiver.script = Array.from({ length: 3 }, () => ({ status: 500 }))
  await advance(call, 'PT1S')
  await put('paused')
  await each(closed)
  await advance(call, 'PT1H')
  await put('active')
  await each(opened)
  await advance(call, 'PT1S')
  await events.status(0)
  await each(closed)
  await advance(call, 'PT1H')
  await events.status(1)
  await advance(call, 'PT4H')
  await must(call, 'POST', `/v4/integrations/${events.id}/replay`, {
    from: new Date(Date.now() - 3_600_000).toISOString(),
    to: (await must(call, 'GET', '/v4/test-clock')).now,
    status: ['missing', 'delivered', 'failed'],
  })
  for (const list of [
    `${url}/runs`,
    `${url}/runs?filter[status][]=failed`,
    '/v4/automation-runs?filter[status][]=failed&filter[status][]=retrying',
    `/v4/automation-runs?filter[event_name][]=${opened}`,
    '/v4/ledger',
    '/v4/health',
    '/v4/test-clock/due',
    ...(['kept', 'declined', 'broken', 'outstanding', 'overdue'] as const).flatMap(state =>
      ['automation_runs', 'deliveries', 'exports', 'report_slots'].map(kind => `/v4/ledger/rows?kind=${kind}&state=${state}`),
    ),
    '/v4/ledger/rows?kind=deliveries&state=held',
    `/v4/integrations/${events.id}/deliveries?filter[status][]=failed`,
  ])
    await must(call, 'GET', list)
  await each(opened)
  await advance(call, 'PT1S')
  await put('inactive')
  const { user_id: user } = await must(call, 'GET', `/v4/identities/${people[0]}`)
  expect((await call('DELETE', `/v4/customers/${user}`)).status).toBe(204)
  await must(call, 'DELETE', url)
  for (const { id } of [events, automationHook]) await call('DELETE', `/v4/integrations/${id}`)
  await advance(call, 'PT1H')
  await events.receiver.close()
  await automationHook.receiver.close()
}

/** Everything that the service does, and apps ask of it. */
export async function driveAll(api: TestApi): Promise<void> {
  const call = sandbox(api)
  await callAll(api, call)
  await liveThrough(call)
  const { requests, send } = await shopOf(api, api.project)
  for (const request of requests)
    expect([request.id, (await send(request)).status]).toEqual([request.id, expect.toSatisfy(status => status < 300)])
  await dropExpired(api.pool)
  await repairOrphans(api.pool, new Map(), 20_000)
}
