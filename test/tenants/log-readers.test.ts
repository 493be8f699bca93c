import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsumerName, lockConsumer } from '../../domain/durable/log/consumer.ts'
import { transaction } from '../../store/transaction.ts'
import { startConsumers } from '../../workers/log-consumers.ts'
import { startApi, type TestApi, type TestProjectKeys } from '../harness/api.ts'
import { claimNothing, consumer } from '../harness/consume.ts'
import { item } from '../harness/events.ts'
import { until } from '../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const CONSUMERS: ConsumerName[] = ['automations', 'integrations']

async function consuming(): Promise<TestProjectKeys> {
  const project = await api.newProject()
  for (const name of CONSUMERS) await transaction(api.pool, tx => lockConsumer(tx, name, project.production))
  return project
}
const post = ({ secret }: TestProjectKeys, count: number) =>
  api.call('POST', '/v4/events', { key: secret, body: { events: Array.from({ length: count }, (_, n) => item({ identity_id: `p${n}` })) } })

test('a project whose log is never read to its end leaves readers for another one', async () => {
  const noisy = [await consuming(), await consuming(), await consuming(), await consuming()]
  const other = await consuming()
  for (const project of noisy) await post(project, 300)
  const batches = new Map<number, number>()
  const handled: string[] = []
  // Every batch of a noisy log brings back the events of the other partitions.
  const reading = (name: ConsumerName) =>
    consumer(name, async (tx, environment, events) => {
      batches.set(environment, (batches.get(environment) ?? 0) + 1)
      if (environment === other.production) handled.push(...events.map(({ id }) => `${name} ${id}`))
      else
        await tx.query('update log_consumers set next_offset = 0 where consumer = $1 and environment = $2 and not partition = any ($3)', [
          name,
          environment,
          events.map(({ partition }) => partition),
        ])
    })
  const readers = startConsumers({
    pool: api.pool,
    consumers: CONSUMERS.map(reading),
    claimOnInsert: claimNothing,
    log: pino({ level: 'silent' }),
  })
  try {
    readers.wakeAll()
    await until('the noisy logs are read', () => [...batches.values()].reduce((sum, n) => sum + n, 0) >= 20 || undefined)
    const { body } = await post(other, 1)
    readers.wakeAll()
    await until('the event of B is read', () => handled.length === 2 || undefined, 30_000)
    expect(handled.sort()).toEqual(CONSUMERS.map(name => `${name} ${body.results[0].id}`))
  } finally {
    await readers.stop()
  }
})
