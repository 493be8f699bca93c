import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { listAutomationRuns } from '../../../domain/automations/automation-runs/list.ts'
import { type AutomationFixture, automationFixture, NO_EFFECTS } from '../../harness/automation-fixture.ts'

let fixture: AutomationFixture
let sending: () => void
let mayFinish: Promise<void>
beforeAll(async () => {
  fixture = await automationFixture()
  const sendEmail = async () => {
    sending()
    await mayFinish
    return { to: 'ann@example.com', message_id: null }
  }
  await fixture.startWorker({ effects: { ...NO_EFFECTS, sendEmail } }, 30_000)
})
afterAll(() => fixture.drop())

const set: Step = { id: 'set', type: 'set_property', key: 'tier', value: 'gold' }
const mail = (id: string): Step => ({ id, type: 'email', to: 'ann@example.com', subject: 'Hi', text: 'Hi' })
const delay: Step = { id: 'wait', type: 'delay', duration: 'PT1H' }

const shown = async (automation: string) => {
  const filter = { statuses: [], user: undefined, from: undefined, to: undefined }
  const { rows } = await listAutomationRuns(fixture.pool, fixture.environment, automation, { limit: 10, after: undefined, filter })
  return rows.map(({ status, current_step }) => [status, current_step])
}

test('the current step of a run is the step under way, from the beginning of its first attempt', async () => {
  const begun = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  sending = begun.resolve
  mayFinish = released.promise
  const { number, automation } = await fixture.start([
    set,
    { id: 'branch', type: 'branch', conditions: [], then: [mail('first')], else: [] },
    delay,
    mail('second'),
  ])
  await begun.promise
  expect(await shown(automation)).toEqual([['running', 'first']])
  released.resolve()
  await fixture.suspended(number)
  expect(await shown(automation)).toEqual([['waiting', 'wait']])

  // The run goes on after a wait: the step after it is under way.
  const again = Promise.withResolvers<void>()
  const last = Promise.withResolvers<void>()
  sending = again.resolve
  mayFinish = last.promise
  await fixture.advance(3601)
  await again.promise
  expect((await shown(automation))[0]![1]).toBe('second')
  last.resolve()
  await fixture.finished(number)
  expect(await shown(automation)).toEqual([['succeeded', null]])
})
