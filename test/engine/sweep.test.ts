import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeRings } from '../../domain/runs/ring.ts'
import { LOCK } from '../../store/advisory-locks.ts'
import type { Pool } from '../../store/connect.ts'
import { startWorker } from '../../workers/main.ts'
import type { Queue } from '../../workers/queue.ts'
import { workflowPerformers } from '../../workflows/engine/execute.ts'
import { type Bench, engineBench, QUICK, workflow } from '../harness/engine.ts'

let bench: Bench
beforeEach(async () => {
  bench = await engineBench()
})
afterEach(() => bench.drop())

const job = (concurrency: number) => workflow('job', async () => {}, { concurrency })

/** A queue that carries nothing: what was rung, and the bell itself. */
function deaf() {
  const rung: number[] = []
  const bells = new Map<string, (ids: number[]) => Promise<void>>()
  const queue: Queue = {
    ring: async (_kind, ids) => {
      rung.push(...ids)
    },
    listen: async (kind, onRing) => {
      bells.set(kind, onRing)
    },
    close: async () => {},
  }
  return { queue, rung, bells }
}

test('one sweep at a time: who comes meanwhile rings nothing, so that no claim passes over what it would look at', async () => {
  const run = await bench.begin('job', 'one')
  const other = await bench.pool.connect()
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock($1, 0)', [LOCK.sweep])
  expect(await takeRings(bench.pool, 10)).toBeNull()
  await other.query('rollback')
  other.release()
  expect(await takeRings(bench.pool, 10)).toEqual([{ kind: 'job', id: run }])
})

test('a handful is taken by the worker that sweeps, if it has plenty of room; others hear of what it has no room for', async () => {
  const { queue, rung } = deaf()
  await bench.work([job(1_000)], { queue })
  await bench.ended(await bench.begin('job', 'taken'))
  expect(rung).toEqual([])
  const narrow = workflow('narrow', async () => {}, { concurrency: 1 })
  await bench.work([narrow], { queue })
  const run = await bench.begin('narrow', 'rung')
  await expect.poll(() => rung).toContain(run)
})

test('what is locked when its ring is heard is asked for once more: the ring is not lost', async () => {
  const { queue, bells } = deaf()
  const run = await bench.begin('job', 'locked')
  // No sweep finds the run in place of its ring.
  const sweeper = await bench.pool.connect()
  await sweeper.query('begin')
  await sweeper.query('select pg_advisory_xact_lock($1, 0)', [LOCK.sweep])
  const locker = await bench.pool.connect()
  await locker.query('begin')
  await locker.query('select 1 from due where id = $1 for no key update', [run])
  let claims = 0
  const pool: Pool = Object.create(bench.pool, {
    query: {
      value: async (query: { name?: string }, values?: unknown[]) => {
        if (query.name === 'claim-due' && ++claims === 2) await locker.query('rollback')
        return bench.pool.query(query as never, values as never)
      },
    },
  })
  const worker = await startWorker({
    pool,
    url: bench.url,
    queue,
    performers: workflowPerformers([job(8)], { pool: bench.pool, policies: QUICK }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
  try {
    await bells.get('job')!([run])
    await bench.ended(run)
    expect(claims).toBe(2)
  } finally {
    await worker.stop()
    for (const held of [sweeper, locker]) held.release(true)
  }
})
