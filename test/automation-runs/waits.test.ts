import { afterAll, beforeAll, expect, test } from 'vitest'
import { cancelRun } from '../../domain/automation-runs/cancel.ts'
import type { Step } from '../../domain/automation-runs/definition.ts'
import { lockAutomationRun } from '../../domain/automation-runs/run.ts'
import { type Appended, type AutomationBench, automationBench } from '../harness/automation-runs.ts'
import { until } from '../harness/until.ts'

let bench: AutomationBench
beforeAll(async () => {
  bench = await automationBench()
  await bench.turn()
})
afterAll(() => bench.drop())

const RENEWED = 'subscription_renewed'
const noted: Step = { id: 'late', type: 'branch', conditions: [], then: [], else: [] }
const wait = (timeout = 'P2D'): Step => ({ id: 'wait', type: 'wait_for_event', event: '8', timeout, on_timeout: [noted] })
const delay = (duration: string): Step => ({ id: 'delay', type: 'delay', duration })

const waitOf = async (number: number) => (await bench.timeline(number)).find(step => step.step_id === 'wait')!
const reached = async (number: number) => (await bench.timeline(number)).map(step => step.step_id)

test('an event wakes the run, and what was for the timeout is not done', async () => {
  const { number, user } = await bench.start([wait()])
  const resting = await bench.resting(number)
  const event = await bench.append(user, RENEWED)
  await bench.consume(event.partition)
  expect(await bench.over(number)).toMatchObject({ status: 'succeeded' })
  const step = await waitOf(number)
  expect(step).toMatchObject({ status: 'succeeded', result: { outcome: 'event', event_id: event.id, due_at: resting.due_at } })
  expect(await reached(number)).toEqual(['wait'])
  expect((await bench.pool.query('select 1 from event_waits where run = $1', [number])).rowCount).toBe(0)
})

test('at the deadline the steps for it are done', async () => {
  const { number } = await bench.start([wait()])
  const resting = await bench.resting(number)
  await bench.advance(2 * 86_400)
  await bench.over(number)
  expect((await waitOf(number)).result).toEqual({ outcome: 'timeout', event_id: null, due_at: resting.due_at })
  expect(await reached(number)).toEqual(['wait', 'late'])
})

test('an event between the trigger and the begin of the wait counts, whether or not it was consumed', async () => {
  for (const isConsumed of [true, false]) {
    const user = await bench.newUser()
    const event = await bench.append(user, 'trial_started')
    const renewed = await bench.append(user, RENEWED)
    if (isConsumed) await bench.consume(event.partition)
    const { number } = await bench.start([wait()], { user, event })
    if (!isConsumed) {
      await bench.resting(number)
      await bench.consume(event.partition)
    }
    await bench.over(number)
    expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: renewed.id })
  }
})

test('other events, other users, backfills and events before the trigger do not count', async () => {
  const user = await bench.newUser()
  await bench.append(user, RENEWED)
  const { number, trigger } = await bench.start([wait()], { user })
  await bench.resting(number)
  await bench.append(user, 'trial_canceled')
  await bench.append(user, RENEWED, { triggers: false })
  const other = await bench.append(await bench.newUser(), RENEWED)
  await bench.consume(trigger.partition)
  await bench.consume(other.partition)
  await bench.advance(2 * 86_400)
  await bench.over(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'timeout' })
})

test('an event received before the deadline wins, though the consumer never told of it', async () => {
  const { number, user } = await bench.start([wait()])
  await bench.resting(number)
  const event = await bench.append(user, RENEWED)
  await bench.append(user, RENEWED)
  await bench.advance(3 * 86_400)
  await bench.over(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: event.id })
})

test('an event received after the deadline does not count, though the worker comes later still', async () => {
  const { number, user } = await bench.start([wait('PT1H')])
  const { due_at } = await bench.resting(number)
  await bench.pool.query('update due set due_at = due_at + $2::interval where id = $1', [number, 'P1D'])
  await bench.advance(7200)
  const event = await bench.append(user, RENEWED)
  await bench.consume(event.partition)
  await bench.advance(86_400)
  await bench.over(number)
  expect((await waitOf(number)).result).toEqual({ outcome: 'timeout', event_id: null, due_at })
})

test('at the deadline a transaction in flight is waited for: its event was received before', async () => {
  const { number, user } = await bench.start([wait('PT1H')])
  await bench.resting(number)
  let commit: (() => void) | undefined
  const appended = bench.append(user, RENEWED, {
    hold: () =>
      new Promise(resolve => {
        commit = resolve
      }),
  })
  const release = await until('the append under way', () => commit)
  await bench.advance(3600)
  await until('the worker that waits', async () => {
    const { rowCount } = await bench.pool.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%log_positions%'`,
    )
    return rowCount || undefined
  })
  release()
  const event = await appended
  await bench.over(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: event.id })
})

test('after a delay only what came from its deadline on counts, also while the run is late', async () => {
  const { number, user, trigger } = await bench.start([delay('P1D'), wait()])
  await bench.resting(number)
  await bench.append(user, RENEWED)
  await bench.pool.query('update due set due_at = due_at + $2::interval where id = $1', [number, 'PT1H'])
  await bench.advance(86_400 + 60)
  const late = await bench.append(user, RENEWED)
  await bench.consume(trigger.partition)
  await bench.advance(3600)
  await bench.over(number)
  expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: late.id })
})

test('the second of two waits begins after the event that ended the first', async () => {
  const second: Step = { ...wait(), id: 'second' } as Step
  const { number, user, trigger } = await bench.start([wait(), second])
  await bench.resting(number)
  const [a, b] = [await bench.append(user, RENEWED), await bench.append(user, RENEWED)]
  await bench.consume(trigger.partition)
  await bench.over(number)
  const timeline = await bench.timeline(number)
  expect(timeline.map(step => step.result?.event_id)).toEqual([a.id, b.id])
})

test('no event is missed, whenever it comes while the wait begins', async () => {
  const ROUNDS = 60
  const partitions = new Set<number>()
  let isOver = false
  const consuming = (async () => {
    for (; !isOver; await new Promise(setImmediate)) for (const partition of partitions) await bench.consume(partition, 2)
  })()
  try {
    const runs: { number: number; event: Promise<Appended> }[] = []
    for (let n = 0; n < ROUNDS; n++) {
      const user = await bench.newUser()
      const event = await bench.append(user, 'trial_started')
      partitions.add(event.partition)
      const { number } = await bench.start([wait()], { user, event })
      const pause = (n % 20) * 2
      runs.push({ number, event: new Promise<void>(resolve => setTimeout(resolve, pause)).then(() => bench.append(user, RENEWED)) })
    }
    for (const { number, event } of runs) {
      const { id } = await event
      await bench.over(number)
      expect((await waitOf(number)).result).toMatchObject({ outcome: 'event', event_id: id })
    }
  } finally {
    isOver = true
    await consuming
  }
})

test('an event that comes while its run is being cancelled waits for that, and neither is undone by the other', async () => {
  const { number, user } = await bench.start([wait()])
  const { id } = await bench.resting(number)
  const { partition } = await bench.append(user, RENEWED)
  const tx = await bench.pool.connect()
  try {
    // Should they wait for each other, it is the cancellation that hears of it.
    await tx.query(`begin; set local deadlock_timeout = '50ms'`)
    await lockAutomationRun(tx, bench.environment, id)
    const consumed = bench.consume(partition)
    await until('the consumer waits', async () => {
      const { rowCount } = await bench.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount! > 0 || undefined
    })
    expect((await cancelRun(tx, bench.environment, id)).after.status).toBe('cancelled')
    await tx.query('commit')
    expect(await consumed).toBeGreaterThan(0)
  } finally {
    tx.release(true)
  }
  expect(await bench.run(number)).toMatchObject({ status: 'cancelled', reason: 'cancelled_by_api' })
})
