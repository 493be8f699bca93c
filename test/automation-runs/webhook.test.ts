import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../domain/automation-runs/definition.ts'
import { wakeRuns } from '../../domain/jobs/wake-runs.ts'
import { transaction } from '../../store/transaction.ts'
import { type AutomationBench, automationBench } from '../harness/automation-runs.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

let bench: AutomationBench
let integration: string
beforeAll(async () => {
  bench = await automationBench()
  integration = await storedIntegration(bench.pool, bench.environment, { slug: 'webhooks' })
  await bench.turn()
})
afterAll(() => bench.drop())

const after: Step = { id: 'after', type: 'branch', conditions: [], then: [], else: [] }
const webhook = (id: string): Step => ({ id: 'hook', type: 'webhook', integration_id: id })

/** The delivery ends, as its handler records it. */
const end = (run: { number: number; id: string }, status: 'delivered' | 'failed', http_status: number) =>
  transaction(bench.pool, async tx => {
    await tx.query(
      `update deliveries set status = $3, ended_at = now(), attempts = jsonb_build_array(jsonb_build_object('number', 1, 'http_status', $4::int))
       where environment = $1 and run_id = $2`,
      [bench.environment, run.id, status, http_status],
    )
    await wakeRuns(tx, bench.environment, [run.number])
  })

async function waiting() {
  const { number } = await bench.start([webhook(integration), after])
  const run = await bench.resting(number)
  const { rows } = await bench.pool.query<{ id: string; automation: object }>(
    'select id, automation from deliveries where environment = $1 and run_id = $2',
    [bench.environment, run.id],
  )
  return { run, deliveries: rows }
}

test('a webhook is one delivery; the run rests until it ends and goes on with its answer', async () => {
  const { run, deliveries } = await waiting()
  expect(deliveries).toHaveLength(1)
  expect(deliveries[0]!.automation).toMatchObject({ run_id: run.id, step_id: 'hook', version: 1 })
  await end(run, 'delivered', 204)
  expect(await bench.over(run.number)).toMatchObject({ status: 'succeeded' })
  expect((await bench.timeline(run.number))[0]).toMatchObject({
    status: 'succeeded',
    result: { delivery_id: deliveries[0]!.id, http_status: 204 },
  })
})

test('a delivery that failed fails the run; one too many looks make no second delivery', async () => {
  const { run } = await waiting()
  await transaction(bench.pool, tx => wakeRuns(tx, bench.environment, [run.number]))
  await bench.resting(run.number)
  await end(run, 'failed', 500)
  expect(await bench.over(run.number)).toMatchObject({ status: 'failed', reason: 'webhook_failed' })
  const { rowCount } = await bench.pool.query('select 1 from deliveries where environment = $1 and run_id = $2', [
    bench.environment,
    run.id,
  ])
  expect(rowCount).toBe(1)
})

test('without the integration the run fails', async () => {
  const { number } = await bench.start([webhook('int_gone'), after])
  expect(await bench.over(number)).toMatchObject({ status: 'failed', reason: 'integration_not_found' })
})
