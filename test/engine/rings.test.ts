import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { takeRings } from '../../domain/runs/ring.ts'
import type { Queue } from '../../workers/queue.ts'
import { type Bench, engineBench, workflow } from '../harness/engine.ts'
import { until } from '../harness/until.ts'

let bench: Bench
beforeEach(async () => {
  bench = await engineBench()
})
afterEach(() => bench.drop())

/** Null would be: another sweep is under way. */
const rings = async (window: number) => (await takeRings(bench.pool, window))!

const beginMany = (count: number, environment: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => bench.begin('job', `${environment}-${i}`, { environment })))

describe('the window', () => {
  test('takes turns between environments and gives none more than half', async () => {
    const many = await beginMany(40, bench.environment)
    const few = await beginMany(3, bench.otherEnvironment)
    const rung = (await rings(20)).map(ring => ring.id)
    expect(few.every(id => rung.includes(id))).toBe(true)
    expect(rung.filter(id => many.includes(id))).toHaveLength(10)
  })

  test('what is rung is not rung again until the ring is lost', async () => {
    const ids = await beginMany(5, bench.environment)
    expect((await rings(100)).map(ring => ring.id).sort()).toEqual(ids.sort())
    expect(await takeRings(bench.pool, 100)).toEqual([])
    await bench.pool.query(`update due set ring_until = clock_timestamp() - interval '1 second' where id = $1`, [ids[0]])
    expect((await rings(100)).map(ring => ring.id)).toEqual([ids[0]])
  })

  test('rings outstanding count: the backlog stays in the database', async () => {
    await beginMany(30, bench.environment)
    expect(await takeRings(bench.pool, 10)).toHaveLength(5)
    expect(await takeRings(bench.pool, 10)).toHaveLength(0)
  })

  test('sweeps at the same time ring nothing twice', async () => {
    await beginMany(50, bench.environment)
    for (let round = 0; round < 20; round++) {
      await bench.pool.query('update due set ring_until = null')
      const taken = (await Promise.all(Array.from({ length: 5 }, () => rings(100)))).flatMap(some => some ?? []).map(ring => ring.id)
      expect([taken.length, new Set(taken).size]).toEqual([50, 50])
    }
  })
})

describe('a worker', () => {
  const counting = () => {
    const executed: string[] = []
    return {
      executed,
      job: workflow('job', async context => {
        executed.push(context.subject)
      }),
    }
  }

  test('does what was promised before it started, and what is promised after', async () => {
    const { executed, job } = counting()
    const before = await bench.begin('job', 'before')
    await bench.work([job])
    const after = await bench.begin('job', 'after')
    await Promise.all([bench.ended(before), bench.ended(after)])
    expect(executed.sort()).toEqual(['after', 'before'])
  })

  test('300 runs on three workers: each once', async () => {
    const { executed, job } = counting()
    for (let i = 0; i < 3; i++) await bench.work([job])
    await beginMany(300, bench.environment)
    await until('no run is due', async () => ((await bench.pool.query('select 1 from due limit 1')).rowCount === 0 ? true : undefined))
    expect([executed.length, new Set(executed).size]).toEqual([300, 300])
  })

  test('goes on without its queue: when the driver is down the sweep claims directly', async () => {
    const { executed, job } = counting()
    const down: Queue = { ring: () => Promise.reject(new Error('down')), listen: async () => {}, close: async () => {} }
    await bench.work([job], { queue: down })
    await bench.ended(await bench.begin('job', 'direct'))
    expect(executed).toEqual(['direct'])
  })

  test('a ring that was lost comes again', async () => {
    const { executed, job } = counting()
    const run = await bench.begin('job', 'lost')
    expect(await takeRings(bench.pool, 10)).toHaveLength(1)
    await bench.pool.query(`update due set ring_until = clock_timestamp() - interval '1 second'`)
    await bench.work([job])
    await bench.ended(run)
    expect(executed).toEqual(['lost'])
  })
})
