import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { automationHandler } from '../../../workflows/automation/handler.ts'
import { type AutomationFixture, automationFixture, NO_EFFECTS } from '../../harness/automation-fixture.ts'
import { claimByHand } from '../../harness/batches.ts'
import { liveLease } from '../../harness/live-lease.ts'
import { storedIntegration } from '../../harness/stored-integration.ts'

// Webhook steps of many runs are one transaction.

let fixture: AutomationFixture
let integration: string
beforeAll(async () => {
  fixture = await automationFixture()
  integration = await storedIntegration(fixture.pool, fixture.environment, { slug: 'webhooks' })
})
afterAll(() => fixture.drop())

const webhook = (id: string): Step => ({ id: 'hook', type: 'webhook', integration_id: id })
async function claimed(steps: Step[]) {
  const { number } = await fixture.start(steps)
  const [job] = await claimByHand(fixture.pool, 'automation-run', [number], 60_000)
  return job!
}

const deliveriesOf = async (number: number) =>
  (
    await fixture.pool.query<{ id: string; transaction: string }>(
      `select v.id, v.xmin::text as transaction from deliveries v join automation_runs r on r.environment = v.environment and r.id = v.run_id
       where r.number = $1`,
      [number],
    )
  ).rows

test('a lost run and one without its integration take nothing from the others, whose deliveries are one transaction', async () => {
  const good = [await claimed([webhook(integration)]), await claimed([webhook(integration)])]
  const lost = await claimed([webhook(integration)])
  const without = await claimed([webhook('int_gone')])
  // Another worker claims this run after the handler has read it.
  const handler = automationHandler({
    pool: fixture.pool,
    effects: NO_EFFECTS,
    at: point => {
      if (point === 'before-effect') taken ??= fixture.pool.query('update due set fence = fence + 1 where id = $1', [lost.id])
    },
  })
  let taken: Promise<unknown> | undefined
  const outcomes = await Promise.all([lost, good[0]!, without, good[1]!].map(job => handler.handle(job, liveLease())))
  await taken
  expect(outcomes.map(({ is }) => is)).toEqual(['lost', 'suspended', 'failed', 'suspended'])
  const made = (await Promise.all(good.map(({ id }) => deliveriesOf(id)))).flat()
  expect(made).toHaveLength(2)
  expect(new Set(made.map(({ transaction }) => transaction)).size).toBe(1)
  expect([...(await deliveriesOf(lost.id)), ...(await deliveriesOf(without.id))]).toEqual([])
  expect((await fixture.finished(without.id)).reason).toBe('integration_not_found')
  expect(await fixture.timeline(lost.id)).toEqual([])
})
