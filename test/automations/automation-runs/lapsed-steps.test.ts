import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { UNRECORDED } from '../../../domain/durable/jobs/lapse.ts'
import type { Effects } from '../../../workflows/automation/step-kind.ts'
import { type AutomationFixture, automationFixture, NO_EFFECTS } from '../../harness/automation-fixture.ts'

// A worker that ended in the middle of automation runs, as their rows tell it to the next worker.
let fixture: AutomationFixture
let runs: Record<'mails' | 'refused' | 'inner', number>
const mail = (id: string, subject = 'a'): Step => ({ id, type: 'email', subject, text: 'b' })
const branch: Step = { id: 'which', type: 'branch', conditions: [], then: [], else: [] }
beforeAll(async () => {
  fixture = await automationFixture()
  /** A run that a worker has claimed once. */
  const lapsed = async (steps: Step[]) => {
    const { number } = await fixture.start(steps)
    await fixture.pool.query(`update due set fence = fence + 1, lease_until = clock_timestamp() - interval '1 second' where id = $1`, [
      number,
    ])
    return number
  }
  runs = {
    mails: await lapsed([mail('one'), mail('two')]),
    refused: await lapsed([mail('one', 'refused')]),
    inner: await lapsed([branch, mail('one')]),
  }
  const sendEmail: Effects['sendEmail'] = async (_environment, { subject }) => {
    if (subject === 'refused') throw new Error('no')
    return { to: 'a@example.com', message_id: null }
  }
  await fixture.startWorker({ effects: { ...NO_EFFECTS, sendEmail } })
})
afterAll(() => fixture.drop())

const unrecorded = (number: number) => ({ number, duration_ms: null, error: UNRECORDED })
const recorded = (number: number, error: string | null) => ({ number, duration_ms: expect.any(Number), error })
async function ended(number: number) {
  const { status } = await fixture.finished(number)
  return { status, attempts: (await fixture.timeline(number)).map(({ attempts }) => attempts) }
}

test('a mail that a worker did not live to record shows that attempt, and later ones do not', async () => {
  expect(await ended(runs.mails)).toMatchObject({
    status: 'succeeded',
    attempts: [[unrecorded(1), recorded(2, null)], [recorded(1, null)]],
  })
})

test('it uses up no attempt of the step', async () => {
  expect(await ended(runs.refused)).toMatchObject({
    status: 'failed',
    attempts: [[unrecorded(1), ...[2, 3, 4, 5, 6].map(number => recorded(number, 'no'))]],
  })
})

test('a step without an outward effect was not tried, and no later mail takes it for its own', async () => {
  expect(await ended(runs.inner)).toMatchObject({ status: 'succeeded', attempts: [[], [recorded(1, null)]] })
})
