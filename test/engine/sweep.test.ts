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
  expect(await takeRings(bench.pool, 10)).toEqual({ rings: [{ kind: 'job', id: run }], claimed: [] })
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

/** A worker that hears what it is told and finds nothing by itself. `onClaim`: before its nth claim is sent. */
async function hearing(concurrency: number, onClaim: (n: number) => Promise<unknown>) {
  const { queue, bells } = deaf()
  const sweeper = await bench.pool.connect()
  await sweeper.query('begin')
  await sweeper.query('select pg_advisory_xact_lock($1, 0)', [LOCK.sweep])
  let claims = 0
  const pool: Pool = Object.create(bench.pool, {
    query: {
      value: async (query: { name?: string }, values?: unknown[]) => {
        if (query.name === 'claim-due') await onClaim(++claims)
        return bench.pool.query(query as never, values as never)
      },
    },
  })
  const worker = await startWorker({
    pool,
    url: bench.url,
    queue,
    performers: workflowPerformers([job(concurrency)], { pool: bench.pool, policies: QUICK }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
  return {
    ring: bells.get('job')!,
    claims: () => claims,
    async stop() {
      await worker.stop()
      sweeper.release(true)
    },
  }
}

test('what is locked when its ring is heard is asked for once more: the ring is not lost', async () => {
  const run = await bench.begin('job', 'locked')
  const locker = await bench.pool.connect()
  await locker.query('begin')
  await locker.query('select 1 from due where id = $1 for no key update', [run])
  const worker = await hearing(8, async n => n === 2 && locker.query('rollback'))
  try {
    await worker.ring([run])
    await bench.ended(run)
    expect(worker.claims()).toBe(2)
  } finally {
    await worker.stop()
    locker.release(true)
  }
})

test('a slot that was kept for what somebody else has had goes at once to the ring that waits for one', async () => {
  const run = await bench.begin('job', 'waits')
  const sent = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const worker = await hearing(2, async n => {
    if (n > 1) return
    sent.resolve()
    await answered.promise
  })
  try {
    const gone = worker.ring([run + 1, run + 2])
    await sent.promise
    const other = worker.ring([run])
    answered.resolve()
    await Promise.all([gone, other])
    await bench.ended(run)
  } finally {
    await worker.stop()
  }
})
