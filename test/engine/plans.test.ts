import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AutomationRun, loadRuns } from '../../domain/automations/automation-runs/load.ts'
import { endRuns, recordSteps, type StepRow, suspendRuns } from '../../domain/automations/automation-runs/record.ts'
import { loadTriggers } from '../../domain/automations/automation-runs/trigger.ts'
import { dispatchDue, nextDue } from '../../domain/durable/jobs/sweep.ts'
import { takeBatch } from '../../domain/durable/jobs/take-batch.ts'
import { consumeBatch } from '../../domain/durable/log/consume.ts'
import { createAutomationDeliveries } from '../../domain/integrations/deliveries/create.ts'
import { loadDeliveries } from '../../domain/integrations/deliveries/load.ts'
import { recordDelivered } from '../../domain/integrations/deliveries/record-success.ts'
import { CONSUMERS } from '../../domain/oversight/reconciliation/log-handlers.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import type { Client } from '../harness/client.ts'
import { hook, must, sandbox } from '../harness/integrations.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { insertUnchecked } from '../harness/unchecked.ts'

// Workers plan these statements once and keep the plans: the plans that a service makes on empty tables must suit full tables.
const MANY = 20_000
const TABLES = ['due', 'automation_runs', 'automation_steps', 'deliveries', 'ordering_keys', 'events', 'environments', 'integrations']
const LEASE = 30_000
const KINDS = ['automation-run', 'delivery']

let api: TestApi
// One connection each, so that the plans made on empty tables are those used later.
let planned: Pool
let recording: Pool
let hookId: string
let ended = 0
let environment: number
let call: Client
beforeAll(async () => {
  api = await startApi()
  for (const table of TABLES) await api.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
  planned = connect({ url: api.databaseUrl, max: 1, planOnce: true })
  recording = connect({ url: api.databaseUrl, max: 1, planOnce: true, hashJoins: true })
  environment = api.project.sandboxEnvironment
  call = sandbox(api)
  hookId = (await hook({ call, config: { events: ['go'] } })).id
  await must(call, 'POST', '/v4/automations', {
    name: 'Leave at once',
    status: 'active',
    data: { initiators: [{ uid: 'go', type: 'event' }], actions: {}, reentry: true, steps: [{ id: 'x', type: 'exit' }] },
  })
  for (let n = 0; n < 6; n++) await turn(`empty-${n}`)
})
afterAll(async () => {
  await planned.end()
  await recording.end()
  await api.stop()
})

/** All that a worker does for an event: it is read, starts a run and a delivery, and both are claimed, loaded and ended. */
async function turn(id: string): Promise<void> {
  const event = { event_id: id, event_name: 'go', identity_id: `person-${id}`, platform: 'iOS', happened_at: '2026-01-01T00:00:00Z' }
  await must(call, 'POST', '/v4/events', { events: [event] })
  for (const consumer of CONSUMERS)
    while ((await consumeBatch(planned, consumer, environment, { partitions: 16, perPartition: 64 })).partitions > 0);
  const offer = {
    capacity: new Map([['delivery', { most: 1, fullEnvironments: [], fullDestinations: [] }]]),
    leaseMs: LEASE,
    batchMs: LEASE,
    limits: new Map(),
  }
  const { batches, claimed } = (await dispatchDue(planned, KINDS, 4_000, offer))!
  await nextDue(planned, KINDS, 1_000)
  expect([batches, claimed].map(some => some.map(({ kind }) => kind))).toEqual([['automation-run'], ['delivery']])
  const taken = await takeBatch(planned, 'automation-run', batches[0]!.number, 0)
  expect(taken.claimed).toHaveLength(1)
  for (const job of [...claimed, ...taken.claimed]) {
    const { kind, id } = job
    if (kind === 'delivery') {
      const [delivery] = await loadDeliveries(planned, [id])
      const attempt = { started_at: delivery!.startedAt, duration_ms: 1, http_status: 200, error: null, response: null }
      expect((await recordDelivered(planned, [{ claimed: job, delivery: delivery!, attempt }])).recorded).toEqual([true])
    } else {
      const [loaded] = await loadRuns(planned, [{ number: id, fence: job.fence }])
      await loadTriggers(planned, [loaded!.run])
      await recordAll(loaded!.run)
    }
  }
}

/** Everything that is recorded of a run: over a connection for single records, and over one for records of many runs. */
async function recordAll(run: AutomationRun): Promise<void> {
  const step = (n: number, status: StepRow['status'], hasBegun = false): StepRow => ({
    ...{
      n,
      step_id: `s${n}`,
      type: 'webhook',
      status,
      reason: null,
      started_at: run.now,
      due_at: null,
      result: null,
      attempts: [],
      hasBegun,
    },
  })
  const suspended = { ...run, status: 'waiting' as const, wakeAt: run.now, waitSeconds: 0, began: run.now }
  const tx = await planned.connect()
  await tx.query('begin')
  const wanted = [{ integrationId: hookId, run, stepId: 's0' }]
  expect((await createAutomationDeliveries(tx, environment, wanted, null)).ids).toEqual([expect.any(String)])
  await tx.query('rollback')
  tx.release()
  for (const [i, db] of [planned, recording].entries()) {
    const [first, second] = [2 * i, 2 * i + 1]
    const recorded = [
      await recordSteps(db, [{ ...run, step: step(first, 'succeeded') }]),
      await suspendRuns(db, [{ ...suspended, step: step(second, 'waiting') }]),
      await suspendRuns(db, [{ ...suspended, step: step(second, 'waiting', true) }]),
      await recordSteps(db, [{ ...run, step: step(second, 'succeeded', true) }]),
    ]
    expect(recorded.flat()).not.toContain(null)
  }
  const end = { ...run, status: 'succeeded' as const, reason: null, began: run.now }
  const db = ended++ % 2 === 0 ? planned : recording
  const last = ended % 4 < 2 ? step(4, 'succeeded') : null
  expect(await endRuns(db, [{ ...end, step: last }])).not.toContain(null)
}

/** Jobs that wait for a later time. */
async function fill(): Promise<void> {
  await insertUnchecked(
    api.pool,
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
     ), ordering_key as (
       insert into ordering_keys (environment, integration, user_id)
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

const read = () => rowsRead([planned, recording], TABLES)

/** What two turns read of each table. */
async function readByTurns(id: string): Promise<Record<string, number>> {
  const before = await read()
  await turn(`${id}-1`)
  await turn(`${id}-2`)
  const after = await read()
  return Object.fromEntries(TABLES.map(table => [table, after[table]! - before[table]!]))
}

// While a transaction of any other test on this server is open, the index entries of jobs that have ended stay and are read as well: 494 by two
// turns on empty tables, 674 by two later ones, instead of 92. Only what full tables add is of the plans.
test('plans that workers made on empty tables read few rows of full tables', async () => {
  const empty = await readByTurns('small')
  await fill()
  await turn('full-0')
  const full = await readByTurns('full')
  for (const table of TABLES) expect(full[table]! - empty[table]!, table).toBeLessThan(400)
})
