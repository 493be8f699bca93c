import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import type { ClaimedJob } from '../../../domain/durable/jobs/job.ts'
import { wakeRuns } from '../../../domain/durable/jobs/wake-runs.ts'
import { transaction } from '../../../store/transaction.ts'
import { automationHandler } from '../../../workflows/automation/handler.ts'
import type { EventDestination } from '../../../workflows/destinations/destination.ts'
import { deliveryHandler } from '../../../workflows/integration-push/deliver.ts'
import { type AutomationFixture, automationFixture, NO_EFFECTS } from '../../harness/automation-fixture.ts'
import { claimByHand } from '../../harness/batches.ts'
import { QUICK } from '../../harness/engine-fixture.ts'
import { liveLease } from '../../harness/live-lease.ts'
import { storedIntegration } from '../../harness/stored-integration.ts'

// The transaction that records a delivery ends the run whose last step has sent it. No worker runs here.

let fixture: AutomationFixture
let integration: string
beforeAll(async () => {
  fixture = await automationFixture()
  integration = await storedIntegration(fixture.pool, fixture.environment, { slug: 'webhooks' })
})
afterAll(() => fixture.drop())

const webhook = (): Step => ({ id: 'hook', type: 'webhook', integration_id: integration })
const after: Step = { id: 'after', type: 'branch', conditions: [], then: [], else: [] }
const nested = (): Step[] => [{ id: 'split', type: 'branch', conditions: [], then: [webhook()], else: [webhook()] }]

const answering: EventDestination = {
  slug: 'webhooks',
  send: async () => ({ outcome: 'delivered', httpStatus: 204, error: null, response: '', retryAfterSeconds: null, durationMs: 1 }),
}

/** A run that waits for its delivery, and the claimed job of the delivery. */
async function waiting(steps: Step[]) {
  const { pool } = fixture
  const { number, automation } = await fixture.start(steps)
  const [run] = await claimByHand(pool, 'automation-run', [number], 60_000)
  expect((await automationHandler({ pool, effects: NO_EFFECTS }).handle(run!, liveLease())).is).toBe('suspended')
  const { rows } = await pool.query<{ number: number; id: string }>(
    'select v.number, v.id from deliveries v join automation_runs r on r.environment = v.environment and r.id = v.run_id where r.number = $1',
    [number],
  )
  const [delivery] = await claimByHand(pool, 'delivery', [rows[0]!.number], 60_000)
  return { number, automation, delivery: delivery!, id: rows[0]!.id }
}

async function deliver(...jobs: ClaimedJob[]) {
  const handler = deliveryHandler({
    ...{ pool: fixture.pool, policy: QUICK.delivery, destinations: new Map([['webhooks', answering]]) },
    ...{ secrets: {} as never, outgoing: {} as never },
  })
  const outcomes = await Promise.all(jobs.map(job => handler.handle(job, liveLease())))
  expect(outcomes.map(({ is }) => is)).toEqual(jobs.map(() => 'succeeded'))
}

const jobOf = async (number: number) =>
  (
    await fixture.pool.query<{ is_due: boolean }>(
      `select due_at <= environment_now(environment) as is_due from due where kind = 'automation-run' and id = $1`,
      [number],
    )
  ).rows[0]

test('a run ends with the delivery of its last step, in the same transaction', async () => {
  const run = await waiting([webhook()])
  const other = await waiting([webhook()])
  await deliver(run.delivery, other.delivery)
  for (const { number, id } of [run, other]) {
    expect(await fixture.run(number)).toMatchObject({ status: 'succeeded', reason: null, current_step: null, due_at: null })
    const timeline = await fixture.timeline(number)
    expect(timeline).toMatchObject([{ status: 'succeeded', reason: null, due_at: null, result: { delivery_id: id, http_status: 204 } }])
    expect(timeline[0]!.attempts).toHaveLength(1)
    expect(await jobOf(number)).toBeUndefined()
  }
  const { rows } = await fixture.pool.query(
    `select distinct r.xmin::text from automation_runs r where r.number = any ($1)
     union select distinct v.xmin::text from deliveries v where v.number = any ($2)`,
    [
      [run.number, other.number],
      [run.delivery.id, other.delivery.id],
    ],
  )
  expect(rows).toHaveLength(1)
})

test.each([
  ['has a further step', () => [webhook(), after]],
  ['has the step inside another one', nested],
] as const)('a run that %s is woken', async (_what, steps) => {
  const run = await waiting(steps())
  await deliver(run.delivery)
  expect((await fixture.run(run.number)).status).toBe('waiting')
  expect(await jobOf(run.number)).toEqual({ is_due: true })
})

test('a run of a paused automation is woken: it ends when the automation goes on', async () => {
  const run = await waiting([webhook()])
  await fixture.pool.query(`update automations set status = 'paused' where environment = $1 and id = $2`, [
    fixture.environment,
    run.automation,
  ])
  await deliver(run.delivery)
  expect((await fixture.run(run.number)).status).toBe('waiting')
  expect(await jobOf(run.number)).toEqual({ is_due: true })
})

test('a run that a worker looks at just now is left to that worker', async () => {
  const run = await waiting([webhook()])
  await transaction(fixture.pool, tx => wakeRuns(tx, fixture.environment, [run.number]))
  const [looking] = await claimByHand(fixture.pool, 'automation-run', [run.number], 60_000)
  await deliver(run.delivery)
  expect((await fixture.run(run.number)).status).toBe('waiting')
  const outcome = await automationHandler({ pool: fixture.pool, effects: NO_EFFECTS }).handle(looking!, liveLease())
  expect(outcome.is).toBe('succeeded')
  expect(await fixture.run(run.number)).toMatchObject({ status: 'succeeded' })
})

test('while the clock of the environment is advanced, a run ends in its own turn', async () => {
  const run = await waiting([webhook()])
  await fixture.pool.query(
    `insert into clock_turns (environment, until) values ($1, clock_timestamp() + interval '1 hour')
     on conflict (environment) do update set until = excluded.until`,
    [fixture.environment],
  )
  await deliver(run.delivery)
  expect((await fixture.run(run.number)).status).toBe('waiting')
  await fixture.pool.query('delete from clock_turns where environment = $1', [fixture.environment])
})
