import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { releaseRuns } from '../../../domain/automations/automation-runs/release.ts'
import { transaction } from '../../../store/transaction.ts'
import { type AutomationFixture, automationFixture } from '../../harness/automation-fixture.ts'
import { until } from '../../harness/until.ts'

let fixture: AutomationFixture
beforeAll(async () => {
  fixture = await automationFixture()
  await fixture.startWorker()
})
afterAll(() => fixture.drop())

const delay: Step = { id: 'wait', type: 'delay', duration: 'PT1H' }
const setTier: Step = { id: 'set', type: 'set_property', key: 'tier', value: 'gold' }
const awaited: Step = { id: 'event', type: 'wait_for_event', event: 'subscription_renewed', timeout: 'P9D', on_timeout: [] }

const setStatus = (automation: string, status: string) =>
  transaction(fixture.pool, async tx => {
    await tx.query('update automations set status = $3 where environment = $1 and id = $2', [fixture.environment, automation, status])
    if (status === 'active') await releaseRuns(tx, fixture.environment, automation)
  })
/** Waits until the run is parked: its due row has no lease and is due in a day. */
const parked = (number: number) =>
  until(`parking of run ${number}`, async () => {
    const { rowCount } = await fixture.pool.query(
      `select 1 from due where id = $1 and lease_until is null and due_at > environment_now(environment) + interval '23 hours'`,
      [number],
    )
    return rowCount || undefined
  })

test('a run that becomes due while its automation is paused continues when it is active again, with the same deadline', async () => {
  const { number, automation } = await fixture.start([delay, setTier])
  const { due_at } = await fixture.suspended(number)
  await setStatus(automation, 'paused')
  await fixture.advance(3700)
  await parked(number)
  expect(await fixture.run(number)).toMatchObject({ status: 'waiting', due_at })
  await setStatus(automation, 'active')
  expect(await fixture.finished(number)).toMatchObject({ status: 'succeeded' })
  expect((await fixture.timeline(number))[0]!.due_at).toBe(due_at)
})

test('an event during the pause ends the wait at once when the automation is active again', async () => {
  const { number, automation, user } = await fixture.start([awaited])
  await fixture.suspended(number)
  await setStatus(automation, 'paused')
  const event = await fixture.append(user, 'subscription_renewed')
  await fixture.consume(event.partition)
  await parked(number)
  await setStatus(automation, 'active')
  await fixture.finished(number)
  expect((await fixture.timeline(number))[0]!.result).toMatchObject({ outcome: 'event', event_id: event.id })
})

test('a run that has not begun is parked during the pause, too', async () => {
  const first = await fixture.start([setTier])
  await fixture.finished(first.number)
  await setStatus(first.automation, 'paused')
  const { number } = await fixture.start([setTier], { automation: first.automation, user: first.user })
  await parked(number)
  expect(await fixture.run(number)).toMatchObject({ status: 'pending', started_at: null })
  await setStatus(first.automation, 'active')
  expect(await fixture.finished(number)).toMatchObject({ status: 'succeeded' })
})
