import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelRun } from '../../../domain/automations/automation-runs/cancel.ts'
import { loadRuns } from '../../../domain/automations/automation-runs/load.ts'
import { recordSteps, type StepRow, suspendRuns } from '../../../domain/automations/automation-runs/record.ts'
import { lockAutomationRun } from '../../../domain/automations/automation-runs/run.ts'
import type { ClaimedJob } from '../../../domain/durable/jobs/job.ts'
import { createAutomationDeliveries } from '../../../domain/integrations/deliveries/create.ts'
import { failPending } from '../../../domain/integrations/deliveries/fail-pending.ts'
import { loadDeliveries, type OpenDelivery } from '../../../domain/integrations/deliveries/load.ts'
import { recordFailure } from '../../../domain/integrations/deliveries/record-failure.ts'
import { recordDelivered } from '../../../domain/integrations/deliveries/record-success.ts'
import { failCancelledDelivery } from '../../../domain/integrations/deliveries/run-cancelled.ts'
import { expireDelivery } from '../../../domain/integrations/deliveries/suspend.ts'
import type { Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { webhookStep } from '../../../workflows/automation/steps/webhook.ts'
import { type AutomationFixture, automationFixture } from '../../harness/automation-fixture.ts'
import { claimByHand } from '../../harness/batches.ts'
import { eraseUser } from '../../harness/erasure.ts'
import { integrationRow } from '../../harness/job-rows.ts'
import { tracesOf } from '../../harness/traces.ts'
import { until } from '../../harness/until.ts'

// A run and the delivery of its webhook step are locked in one order by everybody: the run's job, the delivery's job, the delivery. Each
// test stops one transaction between two of these locks while another one takes the same locks. No worker runs here.

let fixture: AutomationFixture
beforeAll(async () => {
  fixture = await automationFixture()
})
afterAll(() => fixture.drop())

const attempt = { started_at: '2026-01-01T00:00:00Z', duration_ms: 1, http_status: 200, error: null, response: null }
const look = webhookStep.by === 'group' ? webhookStep.transactAll : undefined
const step = { id: 'hook', type: 'webhook' as const, integration_id: '' }

type Waiting = { run: NonNullable<Awaited<ReturnType<typeof loadRuns>>[0]>; delivery: OpenDelivery; claimed: ClaimedJob; row: StepRow }

/** A run that waits for its delivery, which is claimed. */
async function waitingRun(): Promise<Waiting & { user: string }> {
  const { pool, environment } = fixture
  const integration = await integrationRow(pool, environment)
  const { rows } = await pool.query<{ id: string }>('select id from integrations where number = $1', [integration])
  const integrationId = rows[0]!.id
  const { number, user } = await fixture.start([{ ...step, integration_id: integrationId }])
  const [job] = await claimByHand(pool, 'automation-run', [number], 60_000)
  const [run] = await loadRuns(pool, [{ number, fence: job!.fence }])
  const row: StepRow = {
    ...{ n: 0, step_id: step.id, type: step.type, status: 'waiting', reason: null, started_at: run!.run.now },
    ...{ due_at: null, result: null, attempts: [], hasBegun: false },
  }
  const created = await transaction(pool, async tx => {
    await suspendRuns(tx, [{ ...run!.run, step: row, status: 'waiting', wakeAt: run!.run.now, waitSeconds: 0, began: run!.run.now }])
    return createAutomationDeliveries(tx, environment, [{ integrationId, run: run!.run, stepId: step.id }], null)
  })
  const found = await pool.query<{ number: number }>('select number from deliveries where id = $1', [created.ids[0]])
  const [claimed] = await claimByHand(pool, 'delivery', [found.rows[0]!.number], 60_000)
  const [delivery] = await loadDeliveries(pool, [found.rows[0]!.number])
  return { run: run!, delivery: delivery!, claimed: claimed!, row: { ...row, hasBegun: true }, user }
}

/** Locks by `first`, waits until `others` waits for them, and goes on with `second`. In a deadlock Postgres aborts this transaction. */
async function interleave(first: (tx: Tx) => Promise<unknown>, others: () => Promise<unknown>, second: (tx: Tx) => Promise<unknown>) {
  const tx = await fixture.pool.connect()
  try {
    await tx.query(`begin; set local deadlock_timeout = '50ms'`)
    await first(tx)
    const other = others()
    other.catch(() => {})
    await until('the other transaction to wait', async () => {
      const { rowCount } = await fixture.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount! > 0 || undefined
    })
    await second(tx)
    await tx.query('commit')
    return await other
  } finally {
    tx.release(true)
  }
}

test('a run that looks at its delivery, and an erasure of its user meanwhile, wait for each other in one order', async () => {
  const { run, row, user } = await waitingRun()
  const [job] = await claimByHand(fixture.pool, 'automation-run', [run.run.number], 60_000)
  const claimed = { ...run.run, fence: job!.fence }
  const context = { step: { ...step, integration_id: '' }, run: claimed, timeline: [], began: run.run.now, now: run.run.now }
  await interleave(
    tx => look!(tx, [{ ...context, recorded: row as never }], null),
    () => eraseUser(fixture.pool, fixture.environment, user),
    async tx => expect(await recordSteps(tx, [{ ...claimed, step: { ...row, status: 'succeeded' } }])).not.toContain(null),
  )
  expect(await tracesOf(fixture.pool, user)).toEqual([])
})

const HELD = `update integrations set active = 0, held_since = environment_now(environment) - interval '31 days' where number = $1`
const ENDS: [what: string, (waiting: Waiting) => Promise<unknown>][] = [
  ['is delivered', ({ claimed, delivery }) => recordDelivered(fixture.pool, [{ claimed, delivery, attempt }])],
  [
    'fails',
    ({ claimed, delivery }) => recordFailure(fixture.pool, { claimed, delivery, attempt, outcome: 'reject', waitAfter: () => null }),
  ],
  [
    'expires',
    async ({ claimed, delivery }) => {
      await fixture.pool.query(HELD, [delivery.integration])
      await fixture.pool.query(`update deliveries set created_at = created_at - interval '31 days' where number = $1`, [delivery.number])
      expect(await expireDelivery(fixture.pool, claimed, delivery)).toBe(true)
    },
  ],
  [
    'ends because its run is cancelled with the automation',
    async ({ claimed, delivery }) => expect(await failCancelledDelivery(fixture.pool, claimed, delivery)).toBe(true),
  ],
  [
    'ends with its integration',
    ({ delivery: { integration } }) =>
      transaction(fixture.pool, async tx => {
        await tx.query('update integrations set active = 0, deleted_at = environment_now(environment) where number = $1', [integration])
        await failPending(tx, fixture.environment, integration)
      }),
  ],
]

test.each(ENDS)('a delivery that %s locks its run before itself, as who ends the run and its delivery', async (_what, end) => {
  const waiting = await waitingRun()
  await interleave(
    tx => lockAutomationRun(tx, fixture.environment, waiting.run.run.id),
    () => end(waiting),
    tx => tx.query(`select 1 from due where kind = 'delivery' and id = $1 for update`, [waiting.delivery.number]),
  )
  const { rows } = await fixture.pool.query('select status from deliveries where number = $1', [waiting.delivery.number])
  expect(['delivered', 'failed']).toContain(rows[0].status)
  // It has woken the run.
  const job = await fixture.pool.query(`select due_at <= clock_timestamp() as is_due from due where kind = 'automation-run' and id = $1`, [
    waiting.run.run.number,
  ])
  expect(job.rows).toEqual([{ is_due: true }])
})

test('the cancellation of a run locks it before its delivery, as the end of the delivery does', async () => {
  const { run, delivery } = await waitingRun()
  await interleave(
    tx => lockAutomationRun(tx, fixture.environment, run.run.id),
    () => transaction(fixture.pool, tx => cancelRun(tx, fixture.environment, run.run.id)),
    tx => tx.query(`select 1 from due where kind = 'delivery' and id = $1 for update`, [delivery.number]),
  )
  const { rows } = await fixture.pool.query('select status, reason from deliveries where number = $1', [delivery.number])
  expect(rows).toEqual([{ status: 'failed', reason: 'run_cancelled' }])
})
