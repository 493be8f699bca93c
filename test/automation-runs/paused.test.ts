import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Step } from '../../domain/automation-runs/definition.ts'
import { releaseRuns } from '../../domain/automation-runs/park.ts'
import { transaction } from '../../store/transaction.ts'
import { type AutomationBench, automationBench } from '../harness/automation-runs.ts'
import { until } from '../harness/until.ts'

let bench: AutomationBench
beforeAll(async () => {
  bench = await automationBench()
  await bench.turn()
})
afterAll(() => bench.drop())

const delay: Step = { id: 'wait', type: 'delay', duration: 'PT1H' }
const setTier: Step = { id: 'set', type: 'set_property', key: 'tier', value: 'gold' }
const awaited: Step = { id: 'event', type: 'wait_for_event', event: 'subscription_renewed', timeout: 'P9D', on_timeout: [] }

const setStatus = (automation: string, status: string) =>
  transaction(bench.pool, async tx => {
    await tx.query('update automations set status = $3 where environment = $1 and id = $2', [bench.environment, automation, status])
    if (status === 'active') await releaseRuns(tx, bench.environment, automation)
  })
/** Set aside: its claimable row is a day off, and no worker holds it. */
const parked = (number: number) =>
  until('the run is set aside', async () => {
    const { rowCount } = await bench.pool.query(
      `select 1 from due where id = $1 and lease_until is null and due_at > environment_now(environment) + interval '23 hours'`,
      [number],
    )
    return rowCount || undefined
  })

test('what falls due while the automation is paused waits, and is done when it is active again; its deadline does not move', async () => {
  const { number, automation } = await bench.start([delay, setTier])
  const { due_at } = await bench.resting(number)
  await setStatus(automation, 'paused')
  await bench.advance(3700)
  await parked(number)
  expect(await bench.run(number)).toMatchObject({ status: 'waiting', due_at })
  await setStatus(automation, 'active')
  expect(await bench.over(number)).toMatchObject({ status: 'succeeded' })
  expect((await bench.timeline(number))[0]!.due_at).toBe(due_at)
})

test('an event that comes meanwhile is met at once when the automation is active again', async () => {
  const { number, automation, user } = await bench.start([awaited])
  await bench.resting(number)
  await setStatus(automation, 'paused')
  const event = await bench.append(user, 'subscription_renewed')
  await bench.consume(event.partition)
  await parked(number)
  await setStatus(automation, 'active')
  await bench.over(number)
  expect((await bench.timeline(number))[0]!.result).toMatchObject({ outcome: 'event', event_id: event.id })
})

test('a run that has not begun waits, too', async () => {
  const first = await bench.start([setTier])
  await bench.over(first.number)
  await setStatus(first.automation, 'paused')
  const { number } = await bench.start([setTier], { automation: first.automation, user: first.user })
  await parked(number)
  expect(await bench.run(number)).toMatchObject({ status: 'pending', started_at: null })
  await setStatus(first.automation, 'active')
  expect(await bench.over(number)).toMatchObject({ status: 'succeeded' })
})
