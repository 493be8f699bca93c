import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LogEvent } from '../../domain/durable/log/consumer.ts'
import { lockConsumer } from '../../domain/durable/log/consumer.ts'
import { transaction } from '../../store/transaction.ts'
import { startConsumers } from '../../workers/log-consumers.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { claimNothing, consumer } from '../harness/consume.ts'
import { item } from '../harness/events.ts'
import { until } from '../harness/until.ts'

const log = pino({ level: 'silent' })

let api: TestApi
let noisy: TestProjectKeys[]
beforeAll(async () => {
  api = await startApi()
  // As many as a process reads at the same time.
  noisy = await Promise.all(Array.from({ length: 6 }, () => api.newProject()))
  for (const { production } of [...noisy, api.project]) await transaction(api.pool, tx => lockConsumer(tx, 'automations', production))
})
afterAll(() => api.stop())

const post = (key: string, count: number, people = count) =>
  api.call('POST', '/v4/events', {
    key,
    body: { events: Array.from({ length: count }, (_, i) => item({ identity_id: `p${i % people}` })) },
  })

const isRead = async () =>
  (
    await api.pool.query(
      'select 1 from log_consumers c join log_positions l using (environment, partition) where c.next_offset < l.next_offset',
    )
  ).rowCount === 0 || undefined

/** Environments in the order of their batches. `onBatch` runs in the transaction of each batch. */
function recorded(onBatch: (environment: number, events: LogEvent[], batches: number) => Promise<void> = async () => {}) {
  const order: number[] = []
  const reading = consumer('automations', async (_tx, environment, events) => {
    order.push(environment)
    await onBatch(environment, events, order.length)
  })
  return { order, reading }
}

test('as many environments with unread events as there are readers do not hold up another one', async () => {
  // Of one user, so of one partition: 64 events are a batch.
  for (const { secret } of noisy) await post(secret, 1_000, 1)
  let announced = 0
  const { order, reading } = recorded(async (_environment, _events, batches) => {
    // B comes when everybody is busy with A.
    if (batches !== noisy.length) return
    await post(api.project.secret, 1)
    announced = order.length
    reader.wake(api.project.production)
  })
  const reader = startConsumers({ pool: api.pool, consumers: [reading], claimOnInsert: claimNothing, log })
  reader.wakeAll()
  await until('all is read', isRead)
  await reader.stop()
  expect(order.length).toBeGreaterThan(15 * noisy.length)
  // One batch of each of the others, and those that were under way.
  expect(order.indexOf(api.project.production) - announced).toBeLessThanOrEqual(2 * noisy.length)
})

test('environments that must be read event by event do so in turns, too', async () => {
  for (const { secret } of noisy) await post(secret, 200, 40)
  const isNoisy = new Set(noisy.map(({ production }) => production))
  let singles = 0
  let before: number | undefined
  const { reading } = recorded(async (environment, events) => {
    if (!isNoisy.has(environment)) before = singles
    else if (events.length > 1) throw new TypeError('only one at a time')
    else if (++singles === noisy.length) {
      // B comes when everybody is busy with A.
      await post(api.project.secret, 1)
      reader.wake(api.project.production)
    }
  })
  const reader = startConsumers({ pool: api.pool, consumers: [reading], claimOnInsert: claimNothing, log })
  reader.wakeAll()
  await until('all is read', isRead)
  await reader.stop()
  expect(singles).toBe(6 * 200)
  expect(before).toBeLessThan(singles / 2)
})
