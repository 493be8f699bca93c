import { afterAll, beforeAll, expect, test } from 'vitest'
import { repairOrphans } from '../../domain/oversight/reconciliation/orphans.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { type Hook, hook, must, post, sandbox } from '../harness/integrations.ts'
import { tracesOf } from '../harness/traces.ts'
import { until } from '../harness/until.ts'

// Customers are erased while workers read their events, execute their runs and send their deliveries.
let api: TestApi
let call: ReturnType<typeof sandbox>
let events: Hook
let steps: Hook
beforeAll(async () => {
  api = await startApi({ worker: true })
  call = sandbox(api)
  events = await hook({ call, config: { events: ['*'] } })
  steps = await hook({ call, config: { events: [] } })
  await must(call, 'POST', '/v4/automations', {
    name: 'Busy',
    status: 'active',
    data: {
      initiators: [{ uid: 'opened', type: 'event' }],
      actions: {},
      steps: [
        { id: 'note', type: 'set_property', key: 'opened', value: 'yes' },
        { id: 'tell', type: 'webhook', integration_id: steps.id },
        { id: 'then', type: 'wait_for_event', event: 'closed', timeout: 'P1D' },
      ],
    },
  })
})
afterAll(async () => {
  await Promise.all([events.receiver.close(), steps.receiver.close()])
  await api.stop()
})

const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
const fields = { price: undefined, currency: undefined, platform: 'iOS' }
const people = (round: number) => Array.from({ length: 8 }, (_, i) => `r${round}-${i}`)

test.each([0, 15, 60, 150])('erasures that begin %i ms after the events leave no traces and do not affect other customers', async ms => {
  const erased = people(ms)
  const users: string[] = []
  for (const identity of erased) {
    await post(call, { ...fields, event_name: 'hello', identity_id: identity })
    users.push((await must(call, 'GET', `/v4/identities/${identity}`)).user_id)
  }
  for (const each of [events, steps]) each.receiver.otherwise = { status: 200, afterMs: 20 }
  await post(
    call,
    ...[...erased, ...people(ms + 1)].flatMap(identity_id => [
      { ...fields, event_name: 'opened', identity_id },
      { ...fields, event_name: 'closed', identity_id },
      { ...fields, event_name: 'opened', identity_id },
    ]),
  )
  await new Promise(resolve => setTimeout(resolve, ms))
  const responses = await Promise.all([
    ...users.map(user => call('DELETE', `/v4/customers/${user}`)),
    call('POST', `/v4/integrations/${events.id}/replay`, {
      body: { from: day(-1), to: day(1), status: ['missing', 'failed', 'delivered'] },
    }),
  ])
  expect(responses.map(response => response.status)).toEqual([...users.map(() => 204), 202])
  await until('an idle environment', async () => ((await must(call, 'GET', '/v4/test-clock')).outstanding === 0 ? true : undefined))
  for (const user of users) expect(await tracesOf(api.pool, user)).toEqual([])
  expect(await repairOrphans(api.pool, new Map(), 1000)).toEqual([])
  expect(await api.pool.query('select 1 from set_aside_events')).toMatchObject({ rowCount: 0 })
  // All runs of other customers were executed: one run per `opened`, and two of three waits ended by their event.
  const others = await api.pool.query<{ status: string }>(
    `select r.status from automation_runs r join users u on u.environment = r.environment and u.id = r.user_id
     where u.identity_id = any ($1) and r.status in ('succeeded', 'waiting')`,
    [people(ms + 1)],
  )
  expect(others.rowCount).toBe(16)
})
