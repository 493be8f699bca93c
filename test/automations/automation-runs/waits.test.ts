import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelRun } from '../../../domain/automations/automation-runs/cancel.ts'
import type { Step } from '../../../domain/automations/automation-runs/definition.ts'
import { lockAutomationRun } from '../../../domain/automations/automation-runs/run.ts'
import { type Appended, type AutomationFixture, automationFixture } from '../../harness/automation-fixture.ts'
import { until } from '../../harness/until.ts'

let fixture: AutomationFixture
beforeAll(async () => {
  fixture = await automationFixture()
  await fixture.startWorker()
})
afterAll(() => fixture.drop())

const RENEWED = 'subscription_renewed'
const late: Step = { id: 'late', type: 'branch', conditions: [], then: [], else: [] }
const wait = (timeout = 'P2D'): Step => ({ id: 'wait', type: 'wait_for_event', event: '8', timeout, on_timeout: [late] })
const delay = (duration: string): Step => ({ id: 'delay', type: 'delay', duration })

const waitOf = async (number: number) => (await fixture.timeline(number)).find(step => step.step_id === 'wait')!
const reached = async (number: number) => (await fixture.timeline(number)).map(step => step.step_id)

test('an event wakes the run, and the steps for the timeout are not executed', async () => {
  const { number, user } = await fixture.start([wait()])
  const suspended = await fixture.suspended(number)
  const event = await fixture.append(user, RENEWED)
  await fixture.consume(event.partition)
  expect(await fixture.finished(number)).toMatchObject({ status: 'succeeded' })
  const step = await waitOf(number)
  expect(step).toMatchObject({ status: 'succeeded', result: { outcome: 'event', event_id: event.id, due_at: suspended.due_at } })
  expect(await reached(number)).toEqual(['wait'])
  expect((await fixture.pool.query('select 1 from event_waits where run = $1', [number])).rowCount).toBe(0)
})

const either: Step = { id: 'wait', type: 'wait_for_event', event: ['8', 'came_back', RENEWED], timeout: 'P2D', on_timeout: [late] }

test('of several types the first event in the log ends the wait, and the run says which one', async () => {
  // Read by the consumer in one batch or one by one, or found in the log when the wait begins.
  for (const most of [1000, 1, 0]) {
    const user = await fixture.newUser()
    const trigger = await fixture.append(user, 'trial_started')
    const begin = async () => {
      const run = await fixture.start([either], { user, event: trigger })
      if (most > 0) await fixture.suspended(run.number)
      return run
    }
    const early = most > 0 ? await begin() : null
    await fixture.append(user, 'trial_canceled')
    const first = await fixture.append(user, 'came_back')
    await fixture.append(user, RENEWED)
    while ((await fixture.consume(trigger.partition, most || 1000)) > 0);
    const { number } = early ?? (await begin())
    await fixture.finished(number)
    expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: first.id, event_name: 'came_back' })
    expect(await reached(number)).toEqual(['wait'])
    expect((await fixture.pool.query('select 1 from event_waits where run = $1', [number])).rowCount).toBe(0)
  }
})

test('a wait for several types ends at its deadline when none of them comes', async () => {
  const { number, user } = await fixture.start([either])
  await fixture.suspended(number)
  expect((await fixture.pool.query('select 1 from event_waits where run = $1', [number])).rowCount).toBe(2)
  await fixture.append(user, 'trial_canceled')
  await fixture.advance(2 * 86_400)
  await fixture.finished(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'timeout' })
  expect(await reached(number)).toEqual(['wait', 'late'])
})

test('at the deadline the steps for the timeout are executed', async () => {
  const { number } = await fixture.start([wait()])
  const suspended = await fixture.suspended(number)
  await fixture.advance(2 * 86_400)
  await fixture.finished(number)
  expect((await waitOf(number)).result).toEqual({ outcome: 'timeout', event_id: null, due_at: suspended.due_at })
  expect(await reached(number)).toEqual(['wait', 'late'])
})

test('an event between the trigger and the start of the wait counts, consumed or not', async () => {
  for (const isConsumed of [true, false]) {
    const user = await fixture.newUser()
    const event = await fixture.append(user, 'trial_started')
    const renewed = await fixture.append(user, RENEWED)
    if (isConsumed) await fixture.consume(event.partition)
    const { number } = await fixture.start([wait()], { user, event })
    if (!isConsumed) {
      await fixture.suspended(number)
      await fixture.consume(event.partition)
    }
    await fixture.finished(number)
    expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: renewed.id })
  }
})

test('other events, other users, backfills and events before the trigger do not count', async () => {
  const user = await fixture.newUser()
  await fixture.append(user, RENEWED)
  const { number, trigger } = await fixture.start([wait()], { user })
  await fixture.suspended(number)
  await fixture.append(user, 'trial_canceled')
  await fixture.append(user, RENEWED, { triggers: false })
  const other = await fixture.append(await fixture.newUser(), RENEWED)
  await fixture.consume(trigger.partition)
  await fixture.consume(other.partition)
  await fixture.advance(2 * 86_400)
  await fixture.finished(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'timeout' })
})

test('an event received before the deadline counts, even when no consumer has read it', async () => {
  const { number, user } = await fixture.start([wait()])
  await fixture.suspended(number)
  const event = await fixture.append(user, RENEWED)
  await fixture.append(user, RENEWED)
  await fixture.advance(3 * 86_400)
  await fixture.finished(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: event.id })
})

test('an event received after the deadline does not count, even when the worker is later still', async () => {
  const { number, user } = await fixture.start([wait('PT1H')])
  const { due_at } = await fixture.suspended(number)
  await fixture.pool.query('update due set due_at = due_at + $2::interval where id = $1', [number, 'P1D'])
  await fixture.advance(7200)
  const event = await fixture.append(user, RENEWED)
  await fixture.consume(event.partition)
  await fixture.advance(86_400)
  await fixture.finished(number)
  expect((await waitOf(number)).result).toEqual({ outcome: 'timeout', event_id: null, due_at })
})

test('at the deadline the run waits for a transaction in flight, whose event was received before', async () => {
  const { number, user } = await fixture.start([wait('PT1H')])
  await fixture.suspended(number)
  let commit: (() => void) | undefined
  const appended = fixture.append(user, RENEWED, {
    beforeCommit: () =>
      new Promise(resolve => {
        commit = resolve
      }),
  })
  const finishAppend = await until('the open transaction', () => commit)
  await fixture.advance(3600)
  await until('the blocked worker', async () => {
    const { rowCount } = await fixture.pool.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%log_positions%'`,
    )
    return rowCount || undefined
  })
  finishAppend()
  const event = await appended
  await fixture.finished(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: event.id })
})

test('after a delay only events from its deadline on count, even when the run is late', async () => {
  const { number, user, trigger } = await fixture.start([delay('P1D'), wait()])
  await fixture.suspended(number)
  await fixture.append(user, RENEWED)
  await fixture.pool.query('update due set due_at = due_at + $2::interval where id = $1', [number, 'PT1H'])
  await fixture.advance(86_400 + 60)
  const late = await fixture.append(user, RENEWED)
  await fixture.consume(trigger.partition)
  await fixture.advance(3600)
  await fixture.finished(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: late.id })
})

test('the second of two waits begins after the event that ended the first', async () => {
  const second: Step = { ...wait(), id: 'second' } as Step
  const { number, user, trigger } = await fixture.start([wait(), second])
  await fixture.suspended(number)
  const [a, b] = [await fixture.append(user, RENEWED), await fixture.append(user, RENEWED)]
  await fixture.consume(trigger.partition)
  await fixture.finished(number)
  const timeline = await fixture.timeline(number)
  expect(timeline.map(step => step.result?.event_id)).toEqual([a.id, b.id])
})

test('no event that arrives while the wait starts is missed', async () => {
  const ROUNDS = 60
  const partitions = new Set<number>()
  let isOver = false
  const consuming = (async () => {
    for (; !isOver; await new Promise(setImmediate)) for (const partition of partitions) await fixture.consume(partition, 2)
  })()
  try {
    const runs: { number: number; event: Promise<Appended> }[] = []
    for (let n = 0; n < ROUNDS; n++) {
      const user = await fixture.newUser()
      const event = await fixture.append(user, 'trial_started')
      partitions.add(event.partition)
      const { number } = await fixture.start([wait()], { user, event })
      const pause = (n % 20) * 2
      runs.push({ number, event: new Promise<void>(resolve => setTimeout(resolve, pause)).then(() => fixture.append(user, RENEWED)) })
    }
    for (const { number, event } of runs) {
      const { id } = await event
      await fixture.finished(number)
      expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: id })
    }
  } finally {
    isOver = true
    await consuming
  }
})

test('the consumer of an event waits for a concurrent cancellation of the run, and both succeed', async () => {
  const { number, user } = await fixture.start([wait()])
  const { id } = await fixture.suspended(number)
  const { partition } = await fixture.append(user, RENEWED)
  const tx = await fixture.pool.connect()
  try {
    // In a deadlock, Postgres must abort the cancellation, so that the test sees it.
    await tx.query(`begin; set local deadlock_timeout = '50ms'`)
    await lockAutomationRun(tx, fixture.environment, id)
    const consumed = fixture.consume(partition)
    await until('the blocked consumer', async () => {
      const { rowCount } = await fixture.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount! > 0 || undefined
    })
    expect((await cancelRun(tx, fixture.environment, id)).after.status).toBe('cancelled')
    await tx.query('commit')
    expect(await consumed).toBeGreaterThan(0)
  } finally {
    tx.release(true)
  }
  expect(await fixture.run(number)).toMatchObject({ status: 'cancelled', reason: 'cancelled_by_api' })
})
