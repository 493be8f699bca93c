import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelRun } from '../../../domain/automations/automation-runs/cancel.ts'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { dropExpired } from '../../../domain/oversight/reconciliation/retention.ts'
import { transaction } from '../../../store/transaction.ts'
import { type AutomationFixture, automationFixture } from '../../harness/automation-fixture.ts'
import { eraseUser } from '../../harness/erasure.ts'

let fixture: AutomationFixture
beforeAll(async () => {
  fixture = await automationFixture()
  await fixture.startWorker()
})
afterAll(() => fixture.drop())

const failing: Step = { id: 'hook', type: 'webhook', integration_id: 'int_gone' }
const setTier: Step = { id: 'set', type: 'set_property', key: 'tier', value: 'gold' }
const delay: Step = { id: 'wait', type: 'delay', duration: 'PT1H' }

const noted = async () =>
  (
    await fixture.pool.query<{ number: number; status: string }>(
      `select u.number, u.status from unsuccessful_runs u join automation_runs r using (environment, automation_id, status, created_at, id, number)
       order by u.number`,
    )
  ).rows

test('the end of a failed or cancelled run notes it, also among others; retention and erasure forget it with the run', async () => {
  const started = await Promise.all([[failing], [setTier], [failing], [delay]].map(steps => fixture.start(steps as Step[])))
  const [first, kept, second, waiting] = started.map(({ number }) => number) as [number, number, number, number]
  for (const number of [first, kept, second]) await fixture.finished(number)
  const { id } = await fixture.suspended(waiting)
  await transaction(fixture.pool, tx => cancelRun(tx, fixture.environment, id))
  const all = [
    { number: first, status: 'failed' },
    { number: second, status: 'failed' },
    { number: waiting, status: 'cancelled' },
  ]
  // The runs begin at the same time: their numbers tell nothing.
  const byNumber = (runs: typeof all) => [...runs].sort((a, b) => a.number - b.number)
  expect(await noted()).toEqual(byNumber(all))
  await fixture.pool.query(
    `update automation_runs set created_at = now() - interval '91 days', finished_at = now() - interval '91 days' where number = $1`,
    [first],
  )
  await fixture.pool.query(
    `update unsuccessful_runs u set created_at = r.created_at from automation_runs r where r.number = $1 and u.number = $1`,
    [first],
  )
  expect((await dropExpired(fixture.pool)).automationRuns).toBe(1)
  expect(await noted()).toEqual(byNumber(all.slice(1)))
  await eraseUser(fixture.pool, fixture.environment, started[2]!.user)
  const { rows } = await fixture.pool.query('select number from unsuccessful_runs')
  expect(rows).toEqual([{ number: waiting }])
})
