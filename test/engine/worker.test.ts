import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Queue } from '../../workers/queue.ts'
import { dispatchAll } from '../harness/batches.ts'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterEach(() => fixture.clear())
afterAll(() => fixture.drop())

function counting() {
  const executed: string[] = []
  const job = workflow('job', async context => {
    executed.push(context.subject)
  })
  return { executed, job }
}

test('a worker executes the runs that were due before it started, and those that come after', async () => {
  const { executed, job } = counting()
  const before = await fixture.begin('job', 'before')
  await fixture.work([job])
  const after = await fixture.begin('job', 'after')
  await Promise.all([fixture.ended(before), fixture.ended(after)])
  expect(executed.sort()).toEqual(['after', 'before'])
})

test('300 runs on three workers: each once', async () => {
  const { executed, job } = counting()
  for (let i = 0; i < 3; i++) await fixture.work([job])
  await Promise.all(Array.from({ length: 300 }, (_, i) => fixture.begin('job', `run-${i}`)))
  await until('no run is due', async () => ((await fixture.pool.query('select 1 from due limit 1')).rowCount === 0 ? true : undefined))
  expect([executed.length, new Set(executed).size]).toEqual([300, 300])
})

test('a worker goes on without its queue: when the driver is down the sweep gives the batches to its own worker', async () => {
  const { executed, job } = counting()
  const down: Queue = { announce: () => Promise.reject(new Error('down')), listen: async () => {}, close: async () => {} }
  await fixture.work([job], { queue: down })
  await fixture.ended(await fixture.begin('job', 'direct'))
  expect(executed).toEqual(['direct'])
})

test('the jobs of a batch that was lost are executed when its lease has expired', async () => {
  const { executed, job } = counting()
  const run = await fixture.begin('job', 'lost')
  expect(await dispatchAll(fixture.pool, 10_000)).toHaveLength(1)
  await fixture.pool.query(`update due set lease_until = clock_timestamp() - interval '1 second'`)
  await fixture.work([job])
  await fixture.ended(run)
  expect(executed).toEqual(['lost'])
})
