import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadRuns } from '../../domain/automation-runs/load.ts'
import { endRuns } from '../../domain/automation-runs/record.ts'
import { loadTriggers } from '../../domain/automation-runs/trigger.ts'
import { loadDeliveries } from '../../domain/deliveries/load.ts'
import { recordDelivered } from '../../domain/deliveries/record-success.ts'
import { consumeBatch } from '../../domain/log/consume.ts'
import { CONSUMERS } from '../../domain/log/handlers.ts'
import { claimDue, lookAtDue } from '../../domain/runs/claim.ts'
import { nextDue, takeRings } from '../../domain/runs/ring.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { hook, must, sandbox } from '../harness/integrations.ts'
import { rowsRead } from '../harness/rows-read.ts'

// Workers plan these statements once and keep the plans: those of a service that began on empty tables must do when they are full.
const MANY = 20_000
const TABLES = ['due', 'automation_runs', 'automation_steps', 'deliveries', 'delivery_lanes', 'events', 'environments', 'integrations']
const LEASE = 30_000

let api: TestApi
// One connection each, so that the plans made on empty tables are those used later.
let planned: Pool
let pool: Pool
let environment: number
let call: Client
beforeAll(async () => {
  api = await startApi()
  for (const table of TABLES) await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
  planned = connect({ url: api.databaseUrl, max: 1, plansOnce: true })
  pool = connect({ url: api.databaseUrl, max: 1 })
  environment = api.project.sandboxEnvironment
  call = sandbox(api)
  await hook({ call, config: { events: ['go'] } })
  await must(call, 'POST', '/v4/automations', {
    name: 'Leave at once',
    status: 'active',
    data: { initiators: [{ uid: 'go', type: 'event' }], actions: {}, reentry: true, steps: [{ id: 'x', type: 'exit' }] },
  })
  for (let n = 0; n < 8; n++) await turn(`empty-${n}`)
})
afterAll(async () => {
  await planned.end()
  await pool.end()
  await api.stop()
})

/** All that a worker does for an event: it is read, starts a run and a delivery, and both are claimed, loaded and ended. */
async function turn(id: string): Promise<void> {
  const event = { event_id: id, event_name: 'go', identity_id: `person-${id}`, platform: 'iOS', happened_at: '2026-01-01T00:00:00Z' }
  await must(call, 'POST', '/v4/events', { events: [event] })
  for (const consumer of CONSUMERS) while ((await consumeBatch(planned, consumer, environment, { partitions: 16, perPartition: 64 })) > 0);
  const rings = (await takeRings(planned, 4_000))!
  await nextDue(planned)
  expect(rings.map(({ kind }) => kind).sort()).toEqual(['automation-run', 'delivery'])
  for (const { kind, id } of rings) {
    await lookAtDue(planned, kind, [id])
    const [claimed] = await claimDue(planned, kind, [id], LEASE)
    if (kind === 'delivery') {
      const [delivery] = await loadDeliveries(planned, [id])
      const attempt = { started_at: delivery!.startedAt, duration_ms: 1, http_status: 200, error: null, response: null }
      expect(await recordDelivered(planned, [{ claimed: claimed!, delivery: delivery!, attempt }])).toEqual([true])
    } else {
      const [loaded] = await loadRuns(planned, [{ number: id, fence: claimed!.fence }])
      const { run } = loaded!
      await loadTriggers(planned, [run])
      expect(await endRuns(pool, [{ ...run, step: null, status: 'succeeded', reason: null, began: run.now }])).not.toContain(null)
    }
  }
}

/** What waits for later. */
async function fill(): Promise<void> {
  await api.pool.query(
    `with event as (
       insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
       select $1, 70, n, 'evt_' || n, 'e_' || n, 'go', 'user_' || n, now() - interval '2 days', now() - interval '2 days'
       from generate_series(1, ${MANY}) n
     ), run as (
       insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
         log_offset, position, status, due_at, created_at)
       select $1, 'run_' || n, a.id, 1, 'user_' || n, 'evt_' || n, 'go', now(), now(), 70, n, n, 'waiting', now() + interval '1 day', now()
       from automations a, generate_series(1, ${MANY}) n where a.environment = $1 returning number
     ), step as (
       insert into automation_steps (run, n, step_id, type, status, started_at) select number, 0, 'x', 'exit', 'waiting', now() from run
     ), lane as (
       insert into delivery_lanes (environment, integration, user_id)
       select $1, i.number, 'user_' || n from integrations i, generate_series(1, ${MANY}) n where i.environment = $1
     ), delivery as (
       insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, status, created_at)
       select $1, 'dlv_' || n, i.number, 'event', 'evt_' || n, 'go', 'user_' || n, 70, n, 'pending', now()
       from integrations i, generate_series(1, ${MANY}) n where i.environment = $1 returning number, integration
     )
     insert into due (kind, id, environment, due_at, destination)
     select 'automation-run', number, $1, now() + interval '1 day', null::int from run
     union all select 'delivery', number, $1, now() + interval '1 day', integration from delivery`,
    [environment],
  )
}

const read = () => rowsRead([planned, pool], TABLES)

test('what workers planned on empty tables finds its rows when they are full', async () => {
  await fill()
  await turn('full-0')
  const before = await read()
  await turn('full-1')
  const after = await read()
  for (const table of TABLES) expect(after[table]! - before[table]!, table).toBeLessThan(500)
})
