import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BACKLOG, BATCH_SIZE, type Batch, dispatchDue, type SpareCapacity, type SweepOffer } from '../../domain/jobs/sweep.ts'
import { takeBatch } from '../../domain/jobs/take-batch.ts'
import type { Queue } from '../../workers/queue.ts'
import { idsOfBatches } from '../harness/batches.ts'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

let bench: EngineFixture
beforeEach(async () => {
  bench = await engineFixture()
})
afterEach(() => bench.drop())

/** None where another sweep is at it. */
const rings = async (window: number) => (await dispatchDue(bench.pool, window))?.batches ?? []
const rungIds = (some: readonly Batch[]) => idsOfBatches(bench.pool, some)
const inOrder = (numbers: number[]) => [...numbers].sort((a, b) => a - b)

/** Room for so many jobs of everybody but those who are full. */
const handfulOf = (most: number, full: Partial<SpareCapacity> = {}): SweepOffer => ({
  capacity: new Map([['job', { most, fullEnvironments: [], fullDestinations: [], ...full }]]),
  leaseMs: 60_000,
  batchMs: 10_000,
  batchSizes: new Map(),
})

const beginMany = (count: number, environment: number) =>
  Promise.all(Array.from({ length: count }, (_, i) => bench.begin('job', `${environment}-${i}`, { environment })))

describe('the window', () => {
  test('takes turns between environments and gives none more than half', async () => {
    const many = await beginMany(40, bench.environment)
    const few = await beginMany(3, bench.otherEnvironment)
    const rung = await rungIds(await rings(20))
    expect(few.every(id => rung.includes(id))).toBe(true)
    expect(rung.filter(id => many.includes(id))).toHaveLength(10)
  })

  test('what is rung is not rung again until the ring is lost', async () => {
    const ids = await beginMany(5, bench.environment)
    expect(inOrder(await rungIds(await rings(100)))).toEqual(inOrder(ids))
    expect(await rings(100)).toEqual([])
    await bench.pool.query(`update due set lease_until = clock_timestamp() - interval '1 second' where id = $1`, [ids[0]])
    expect(await rungIds(await rings(100))).toEqual([ids[0]])
  })

  test('rings outstanding count: the backlog stays in the database', async () => {
    await beginMany(30, bench.environment)
    const [ring, ...others] = await rings(10)
    expect([ring!.count, others]).toEqual([5, []])
    expect(await rings(10)).toHaveLength(0)
    await takeBatch(bench.pool, 'job', ring!.number, 0)
    expect(await rings(10)).toMatchObject([{ count: 5 }])
  })

  test('a ring stands for no more than so many of its kind, and for one priority: the most urgent is rung first', async () => {
    const urgent = await beginMany(3, bench.environment)
    const rest = await beginMany(BATCH_SIZE + 5, bench.otherEnvironment)
    await bench.pool.query('update due set priority = 1 where id = any ($1::bigint[])', [rest])
    const found = await rings(6_000)
    expect(found.map(({ count }) => count)).toEqual([3, BATCH_SIZE, 5])
    expect(inOrder(await rungIds(found.slice(0, 1)))).toEqual(inOrder(urgent))
    expect(inOrder(await rungIds(found.slice(1)))).toEqual(inOrder(rest))
    await bench.pool.query('update due set lease_until = null')
    const small = await dispatchDue(bench.pool, 6_000, { ...handfulOf(0), capacity: new Map(), batchSizes: new Map([['job', 100]]) })
    expect(small!.batches.map(({ count }) => count)).toEqual([3, 100, 100, 5])
  })

  test('of many that hear the same ring one has what it stands for; what was ended, moved or taken over meanwhile nobody has', async () => {
    const [gone, later, lost, ...ours] = await beginMany(12, bench.environment)
    const [ring] = await rings(100)
    await bench.pool.query('delete from due where id = $1', [gone])
    await bench.pool.query(`update due set due_at = due_at + interval '1 day' where id = $1`, [later])
    await bench.pool.query('update due set fence = fence + 1 where id = $1', [lost])
    const answers = await Promise.all(Array.from({ length: 10 }, () => takeBatch(bench.pool, 'job', ring!.number, 0)))
    const granted = answers.flatMap(({ claimed }) => claimed)
    expect(inOrder(granted.map(({ id }) => id))).toEqual(inOrder(ours))
    expect(answers.filter(({ claimed }) => claimed.length > 0)).toHaveLength(1)
  })

  test('a ring that has too little of its time left is not taken', async () => {
    await beginMany(2, bench.environment)
    const [ring] = await rings(100)
    expect((await takeBatch(bench.pool, 'job', ring!.number, 10_001)).claimed).toEqual([])
    const { claimed, leftMs } = await takeBatch(bench.pool, 'job', ring!.number, 1)
    expect(claimed).toHaveLength(2)
    const { rows } = await bench.pool.query<{ ms: number }>(
      'select (extract(epoch from min(lease_until) - clock_timestamp()) * 1000)::float8 as ms from due',
    )
    expect(leftMs).toBeGreaterThanOrEqual(rows[0]!.ms)
    expect(leftMs).toBeLessThanOrEqual(10_000)
  })

  test('a handful of a kind is claimed by the sweep itself; more than that, or of another kind, is rung', async () => {
    const [first, second] = await beginMany(2, bench.environment)
    const other = await bench.begin('other', 'o')
    await bench.pool.query(`update due set destination = 7 where id = $1`, [second])
    const sweep = (count: number) => dispatchDue(bench.pool, 100, handfulOf(count))
    const { batches: rung, claimed } = (await sweep(2))!
    expect(rung).toMatchObject([{ kind: 'other', count: 1 }])
    expect(await rungIds(rung)).toEqual([other])
    expect(claimed.sort((a, b) => a.id - b.id)).toEqual([
      { kind: 'job', id: first, fence: 1, environment: bench.environment, destination: null },
      { kind: 'job', id: second, fence: 1, environment: bench.environment, destination: 7 },
    ])
    const { rows } = await bench.pool.query(
      `select id, fence, lease_until > now() + interval '50 seconds' as held, batched_until from due where kind = 'job' order by id`,
    )
    expect(rows).toEqual([first, second].map(id => ({ id, fence: 1, held: true, batched_until: null })))
    expect(await sweep(2)).toEqual({ batches: [], claimed: [] })

    const more = await beginMany(3, bench.otherEnvironment)
    const next = (await sweep(2))!
    expect([inOrder(await rungIds(next.batches)), next.claimed]).toEqual([inOrder(more), []])
  })

  test('behind the backlog of one environment the handful of another is claimed all the same, the smaller one first', async () => {
    const many = await beginMany(BACKLOG, bench.environment)
    const few = await beginMany(2, bench.otherEnvironment)
    const { batches: rung, claimed } = (await dispatchDue(bench.pool, 100, handfulOf(5)))!
    expect([inOrder(await rungIds(rung)), inOrder(claimed.map(({ id }) => id))]).toEqual([inOrder(many), inOrder(few)])
    const [alone] = await beginMany(1, bench.environment)
    const three = await beginMany(3, bench.otherEnvironment)
    const next = (await dispatchDue(bench.pool, 100, handfulOf(3)))!
    expect([next.claimed.map(({ id }) => id), inOrder(await rungIds(next.batches))]).toEqual([[alone], inOrder(three)])
  })

  test('nothing is claimed of an environment or for a destination that is full', async () => {
    const [plain, full] = await beginMany(2, bench.environment)
    await bench.pool.query('update due set destination = 7 where id = $1', [full])
    const [other] = await beginMany(1, bench.otherEnvironment)
    const room = { fullEnvironments: [bench.otherEnvironment], fullDestinations: [7] }
    const { batches: rung, claimed } = (await dispatchDue(bench.pool, 100, handfulOf(5, room)))!
    expect([inOrder(await rungIds(rung)), claimed.map(({ id }) => id)]).toEqual([inOrder([full!, other!]), [plain]])
  })

  test('sweeps that claim, and several that hear each ring, at the same time: each promise is granted once', async () => {
    for (let round = 0; round < 20; round++) {
      await bench.pool.query('delete from due')
      await bench.pool.query('delete from batches')
      const ids = [...(await beginMany(12, bench.environment)), ...(await beginMany(BACKLOG + 5, bench.otherEnvironment))]
      const granted: { id: number; fence: number }[] = []
      const sweepAndHear = async () => {
        const swept = await dispatchDue(bench.pool, 100, handfulOf(12))
        granted.push(...(swept?.claimed ?? []))
        const heard = (swept?.batches ?? []).flatMap(({ number }) => [number, number])
        const answers = await Promise.all(heard.map(number => takeBatch(bench.pool, 'job', number, 0)))
        granted.push(...answers.flatMap(({ claimed }) => claimed))
      }
      await Promise.all(Array.from({ length: 4 }, sweepAndHear))
      const byId = (a: number[], b: number[]) => a[0]! - b[0]!
      expect(granted.map(({ id, fence }) => [id, fence]).sort(byId)).toEqual(ids.map(id => [id, 1]).sort(byId))
    }
  })

  test('sweeps at the same time ring nothing twice', async () => {
    await beginMany(50, bench.environment)
    for (let round = 0; round < 20; round++) {
      await bench.pool.query('update due set lease_until = null')
      await bench.pool.query('delete from batches')
      const taken = await rungIds((await Promise.all(Array.from({ length: 5 }, () => rings(100)))).flat())
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
    const down: Queue = { announce: () => Promise.reject(new Error('down')), listen: async () => {}, close: async () => {} }
    await bench.work([job], { queue: down })
    await bench.ended(await bench.begin('job', 'direct'))
    expect(executed).toEqual(['direct'])
  })

  test('a ring that was lost comes again', async () => {
    const { executed, job } = counting()
    const run = await bench.begin('job', 'lost')
    expect(await rings(10)).toHaveLength(1)
    await bench.pool.query(`update due set lease_until = clock_timestamp() - interval '1 second'`)
    await bench.work([job])
    await bench.ended(run)
    expect(executed).toEqual(['lost'])
  })
})
