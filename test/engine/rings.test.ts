import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { claimDue } from '../../domain/runs/claim.ts'
import { BACKLOG, type Handful, type Room, takeRings } from '../../domain/runs/ring.ts'
import type { Queue } from '../../workers/queue.ts'
import { type Bench, engineBench, workflow } from '../harness/engine.ts'
import { until } from '../harness/until.ts'

let bench: Bench
beforeEach(async () => {
  bench = await engineBench()
})
afterEach(() => bench.drop())

/** None where another sweep is at it. */
const rings = async (window: number) => (await takeRings(bench.pool, window))?.rings ?? []

/** Room for so many jobs of everybody but those who are full. */
const handfulOf = (most: number, full: Partial<Room> = {}): Handful => ({
  room: new Map([['job', { most, fullEnvironments: [], fullDestinations: [], ...full }]]),
  leaseMs: 60_000,
})

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
    expect(await rings(100)).toEqual([])
    await bench.pool.query(`update due set ring_until = clock_timestamp() - interval '1 second' where id = $1`, [ids[0]])
    expect((await rings(100)).map(ring => ring.id)).toEqual([ids[0]])
  })

  test('rings outstanding count: the backlog stays in the database', async () => {
    await beginMany(30, bench.environment)
    expect(await rings(10)).toHaveLength(5)
    expect(await rings(10)).toHaveLength(0)
  })

  test('a handful of a kind is claimed by the sweep itself; more than that, or of another kind, is rung', async () => {
    const [first, second] = await beginMany(2, bench.environment)
    const other = await bench.begin('other', 'o')
    await bench.pool.query(`update due set destination = 7 where id = $1`, [second])
    const sweep = (count: number) => takeRings(bench.pool, 100, handfulOf(count))
    const { rings: rung, claimed } = (await sweep(2))!
    expect(rung).toEqual([{ kind: 'other', id: other }])
    expect(claimed.sort((a, b) => a.id - b.id)).toEqual([
      { kind: 'job', id: first, fence: 1, environment: bench.environment, destination: null },
      { kind: 'job', id: second, fence: 1, environment: bench.environment, destination: 7 },
    ])
    const { rows } = await bench.pool.query(
      `select id, fence, lease_until > now() + interval '50 seconds' as held, ring_until from due where kind = 'job' order by id`,
    )
    expect(rows).toEqual([first, second].map(id => ({ id, fence: 1, held: true, ring_until: null })))
    expect(await sweep(2)).toEqual({ rings: [], claimed: [] })

    const more = await beginMany(3, bench.otherEnvironment)
    const next = (await sweep(2))!
    expect([next.rings.map(({ id }) => id).sort(), next.claimed]).toEqual([more.sort(), []])
  })

  test('behind the backlog of one environment the handful of another is claimed all the same, the smaller one first', async () => {
    const many = await beginMany(BACKLOG, bench.environment)
    const few = await beginMany(2, bench.otherEnvironment)
    const { rings: rung, claimed } = (await takeRings(bench.pool, 100, handfulOf(5)))!
    expect([rung.map(({ id }) => id).sort(), claimed.map(({ id }) => id).sort()]).toEqual([many.sort(), few.sort()])
    const [alone] = await beginMany(1, bench.environment)
    const three = await beginMany(3, bench.otherEnvironment)
    const next = (await takeRings(bench.pool, 100, handfulOf(3)))!
    expect([next.claimed.map(({ id }) => id), next.rings.map(({ id }) => id).sort()]).toEqual([[alone], three.sort()])
  })

  test('nothing is claimed of an environment or for a destination that is full', async () => {
    const [plain, full] = await beginMany(2, bench.environment)
    await bench.pool.query('update due set destination = 7 where id = $1', [full])
    const [other] = await beginMany(1, bench.otherEnvironment)
    const room = { fullEnvironments: [bench.otherEnvironment], fullDestinations: [7] }
    const { rings: rung, claimed } = (await takeRings(bench.pool, 100, handfulOf(5, room)))!
    expect([rung.map(({ id }) => id).sort(), claimed.map(({ id }) => id)]).toEqual([[full, other].sort(), [plain]])
  })

  test('sweeps that claim, and claims of what was rung, at the same time: each promise is granted once', async () => {
    for (let round = 0; round < 20; round++) {
      await bench.pool.query('delete from due')
      const ids = await beginMany(12, bench.environment)
      const handful = handfulOf(12)
      const granted = await Promise.all([
        ...Array.from({ length: 3 }, () => takeRings(bench.pool, 100, handful).then(swept => swept?.claimed ?? [])),
        ...Array.from({ length: 3 }, () => claimDue(bench.pool, 'job', ids, 60_000)),
      ])
      // Passed over by all of them, as each was locked by somebody who did not get it, is what a worker asks for once more.
      granted.push(await claimDue(bench.pool, 'job', ids, 60_000))
      expect(
        granted
          .flat()
          .map(({ id, fence }) => [id, fence])
          .sort(),
      ).toEqual(ids.map(id => [id, 1]).sort())
    }
  })

  test('sweeps at the same time ring nothing twice', async () => {
    await beginMany(50, bench.environment)
    for (let round = 0; round < 20; round++) {
      await bench.pool.query('update due set ring_until = null')
      const taken = (await Promise.all(Array.from({ length: 5 }, () => rings(100)))).flat().map(ring => ring.id)
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
    expect(await rings(10)).toHaveLength(1)
    await bench.pool.query(`update due set ring_until = clock_timestamp() - interval '1 second'`)
    await bench.work([job])
    await bench.ended(run)
    expect(executed).toEqual(['lost'])
  })
})
