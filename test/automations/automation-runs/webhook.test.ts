import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { deliveriesOfSteps } from '../../../domain/automations/automation-runs/deliveries-of-steps.ts'
import type { AutomationRun } from '../../../domain/automations/automation-runs/load.ts'
import { wakeRuns } from '../../../domain/durable/jobs/wake-runs.ts'
import { dropExpired } from '../../../domain/oversight/reconciliation/retention.ts'
import { transaction } from '../../../store/transaction.ts'
import { type AutomationFixture, automationFixture } from '../../harness/automation-fixture.ts'
import { storedIntegration } from '../../harness/stored-integration.ts'

let fixture: AutomationFixture
let integration: string
beforeAll(async () => {
  fixture = await automationFixture()
  integration = await storedIntegration(fixture.pool, fixture.environment, { slug: 'webhooks' })
  await fixture.startWorker()
})
afterAll(() => fixture.drop())

const after: Step = { id: 'after', type: 'branch', conditions: [], then: [], else: [] }
const webhook = (id: string): Step => ({ id: 'hook', type: 'webhook', integration_id: id })

/** Ends the delivery as its handler does. */
const end = (run: { number: number; id: string }, status: 'delivered' | 'failed', http_status: number) =>
  transaction(fixture.pool, async tx => {
    await tx.query(
      `update deliveries set status = $3, ended_at = now(), attempts = jsonb_build_array(jsonb_build_object('number', 1, 'http_status', $4::int))
       where environment = $1 and run_id = $2`,
      [fixture.environment, run.id, status, http_status],
    )
    await wakeRuns(tx, fixture.environment, [run.number])
  })

async function waiting() {
  const { number } = await fixture.start([webhook(integration), after])
  const run = await fixture.suspended(number)
  const { rows } = await fixture.pool.query<{ id: string; automation: object }>(
    'select id, automation from deliveries where environment = $1 and run_id = $2',
    [fixture.environment, run.id],
  )
  return { run, deliveries: rows }
}

test('a webhook step is one delivery, and the run waits for its end and continues with its response', async () => {
  const { run, deliveries } = await waiting()
  expect(deliveries).toHaveLength(1)
  expect(deliveries[0]!.automation).toMatchObject({ run_id: run.id, step_id: 'hook', version: 1 })
  await end(run, 'delivered', 204)
  expect(await fixture.finished(run.number)).toMatchObject({ status: 'succeeded' })
  expect((await fixture.timeline(run.number))[0]).toMatchObject({
    status: 'succeeded',
    result: { delivery_id: deliveries[0]!.id, http_status: 204 },
  })
})

test('a failed delivery fails the run, and an early wake-up creates no second delivery', async () => {
  const { run, deliveries } = await waiting()
  await transaction(fixture.pool, tx => wakeRuns(tx, fixture.environment, [run.number]))
  await fixture.suspended(run.number)
  await end(run, 'failed', 500)
  expect(await fixture.finished(run.number)).toMatchObject({ status: 'failed', reason: 'webhook_failed' })
  expect((await fixture.timeline(run.number))[0]).toMatchObject({
    ...{ status: 'failed', reason: 'webhook_failed' },
    result: { delivery_id: deliveries[0]!.id, http_status: 500 },
  })
  const { rowCount } = await fixture.pool.query('select 1 from deliveries where environment = $1 and run_id = $2', [
    fixture.environment,
    run.id,
  ])
  expect(rowCount).toBe(1)
})

test.each([
  ['delivered', 204, 'succeeded', null],
  ['failed', 500, 'failed', 'webhook_failed'],
] as const)('a delivery (%s) that retention removes before the run has read its result: the step has the result', async (status, http_status, outcome, reason) => {
  const { run, deliveries } = await waiting()
  await fixture.pool.query(
    `update deliveries set status = $3, ended_at = environment_now($1) - interval '31 days', attempts = $4 where environment = $1 and run_id = $2`,
    [fixture.environment, run.id, status, JSON.stringify([{ number: 1, http_status }])],
  )
  expect((await dropExpired(fixture.pool)).deliveries).toBe(1)
  const result = { delivery_id: deliveries[0]!.id, http_status }
  expect((await fixture.timeline(run.number))[0]).toMatchObject({ status: 'waiting', result })
  await transaction(fixture.pool, tx => wakeRuns(tx, fixture.environment, [run.number]))
  expect(await fixture.finished(run.number)).toMatchObject({ status: outcome, reason })
  expect((await fixture.timeline(run.number))[0]!.result).toEqual(result)
})

test('the result of a delivery that retention removes while the run is executed is in the step, too', async () => {
  const { run, deliveries } = await waiting()
  await fixture.pool.query(
    `update deliveries set status = 'delivered', ended_at = environment_now($1) - interval '31 days', attempts = '[{"number": 1, "http_status": 204}]'
     where environment = $1 and run_id = $2`,
    [fixture.environment, run.id],
  )
  const { rows } = await fixture.pool.query<{ fence: number }>(`select fence from due where kind = 'automation-run' and id = $1`, [
    run.number,
  ])
  await dropExpired(fixture.pool)
  const executed = { environment: fixture.environment, id: run.id, number: run.number, fence: rows[0]!.fence } as AutomationRun
  const found = await transaction(fixture.pool, tx => deliveriesOfSteps(tx, fixture.environment, [{ run: executed, step: 'hook' }]))
  expect(found).toEqual([{ id: deliveries[0]!.id, status: 'delivered', http_status: 204 }])
})

test('a run whose integration does not exist fails', async () => {
  const { number } = await fixture.start([webhook('int_gone'), after])
  expect(await fixture.finished(number)).toMatchObject({ status: 'failed', reason: 'integration_not_found' })
})
