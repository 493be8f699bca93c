import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelRun } from '../../../domain/automations/automation-runs/cancel.ts'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { transaction } from '../../../store/transaction.ts'
import { type AutomationFixture, automationFixture, NO_EFFECTS } from '../../harness/automation-fixture.ts'
import { eraseUser } from '../../harness/erasure.ts'
import { until } from '../../harness/until.ts'

let fixture: AutomationFixture
let isUp = false
beforeAll(async () => {
  fixture = await automationFixture()
  const sendEmail = async () => {
    if (!isUp) throw new Error('the mail server is away')
    return { to: 'ada@example.org', message_id: 'm' }
  }
  // Pauses that end when a test says so.
  await fixture.startWorker({ effects: { ...NO_EFFECTS, sendEmail }, policy: { waits: [3600, 3600], attemptLimitMs: 5_000 } }, 30_000)
})
afterAll(() => fixture.drop())

const mail: Step = { id: 'mail', type: 'email', to: 'ada@example.org', subject: 'S', text: 'T' }
const rest: Step = { id: 'rest', type: 'delay', duration: 'PT1H' }
const noted = async (): Promise<number[]> =>
  (await fixture.pool.query<{ number: number }>('select number from retrying_runs order by number')).rows.map(({ number }) => number)
const retried = (number: number) =>
  until(`pause of run ${number}`, async () => ((await fixture.run(number)).status === 'running' ? true : undefined))
async function again(number: number) {
  await fixture.pool.query(`update due set due_at = now() where kind = 'automation-run' and id = $1`, [number])
  await fixture.pool.query(`select pg_notify('due', 'automation-run')`)
}

test('a run is noted while a step is tried again, and no longer: when the step succeeds, the run is cancelled or the user is erased', async () => {
  const [passes, cancelled, erased] = [await fixture.start([mail, rest]), await fixture.start([mail]), await fixture.start([mail])]
  const numbers = [passes, cancelled, erased].map(({ number }) => number).toSorted((a, b) => a - b)
  for (const number of numbers) await retried(number)
  expect(await noted()).toEqual(numbers)
  await transaction(fixture.pool, async tx => cancelRun(tx, fixture.environment, (await fixture.run(cancelled.number)).id))
  await eraseUser(fixture.pool, fixture.environment, erased.user)
  expect(await noted()).toEqual([passes.number])
  await again(passes.number)
  await until('a second attempt', async () => ((await fixture.timeline(passes.number))[0]!.attempts.length === 2 ? true : undefined))
  expect(await noted()).toEqual([passes.number])
  isUp = true
  await again(passes.number)
  await fixture.suspended(passes.number)
  expect(await noted()).toEqual([])
})
