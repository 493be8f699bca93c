import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Batch, dispatchDue } from '../../domain/jobs/sweep.ts'
import { LOCK } from '../../store/advisory-locks.ts'
import type { Pool } from '../../store/connect.ts'
import { startWorker } from '../../workers/main.ts'
import type { Queue } from '../../workers/queue.ts'
import { workflowHandlers } from '../../workflows/engine/execute.ts'
import { dispatchAll, idsOfBatches } from '../harness/batches.ts'
import { type EngineFixture, engineFixture, QUICK, workflow } from '../harness/engine-fixture.ts'

let bench: EngineFixture
beforeEach(async () => {
  bench = await engineFixture()
})
afterEach(() => bench.drop())

const job = (concurrency: number) => workflow('job', async () => {}, { concurrency })

/** A queue that carries nothing: the kinds that were rung, and the bells themselves. */
function deaf() {
  const rung: string[] = []
  const bells = new Map<string, (ring: Batch) => Promise<void>>()
  const queue: Queue = {
    announce: async kind => {
      rung.push(kind)
    },
    listen: async (kind, onRing) => {
      bells.set(kind, onRing)
    },
    close: async () => {},
  }
  return { queue, rung, bells }
}

test('one sweep at a time: who comes meanwhile rings nothing', async () => {
  const run = await bench.begin('job', 'one')
  const other = await bench.pool.connect()
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock($1, 0)', [LOCK.sweep])
  expect(await dispatchDue(bench.pool, 10)).toBeNull()
  await other.query('rollback')
  other.release()
  const swept = await dispatchDue(bench.pool, 10)
  expect(swept).toMatchObject({ batches: [{ kind: 'job', count: 1 }], claimed: [] })
  expect(await idsOfBatches(bench.pool, swept!.batches)).toEqual([run])
})

test('a handful is taken by the worker that sweeps, if it has plenty of room; others hear of what it has no room for', async () => {
  const { queue, rung } = deaf()
  await bench.work([job(1_000)], { queue })
  await bench.ended(await bench.begin('job', 'taken'))
  expect(rung).toEqual([])
  const narrow = workflow('narrow', async () => {}, { concurrency: 1 })
  await bench.work([narrow], { queue })
  await bench.begin('narrow', 'rung')
  await expect.poll(() => rung).toContain('narrow')
})

/** A worker that hears what it is told and finds nothing by itself. `before`: before a statement of that name is sent. */
async function hearing(concurrency: number, before: (statement: string) => Promise<unknown>) {
  const { queue, bells } = deaf()
  const sweeper = await bench.pool.connect()
  await sweeper.query('begin')
  await sweeper.query('select pg_advisory_xact_lock($1, 0)', [LOCK.sweep])
  const pool: Pool = Object.create(bench.pool, {
    query: {
      value: async (query: { name?: string }, values?: unknown[]) => {
        if (query.name) await before(query.name)
        return bench.pool.query(query as never, values as never)
      },
    },
  })
  const worker = await startWorker({
    pool,
    url: bench.url,
    queue,
    handlers: workflowHandlers([job(concurrency)], { pool: bench.pool, policies: QUICK }),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
  return {
    ring: bells.get('job')!,
    async stop() {
      await worker.stop()
      sweeper.release(true)
    },
  }
}

test('what is locked when its ring is heard is taken all the same: the ring is not lost', async () => {
  const run = await bench.begin('job', 'locked')
  const [ring] = await dispatchAll(bench.pool, 10_000)
  const locker = await bench.pool.connect()
  await locker.query('begin')
  await locker.query('select 1 from due where id = $1 for no key update', [run])
  const worker = await hearing(8, async () => {})
  try {
    await worker.ring(ring!)
    await locker.query('rollback')
    await bench.ended(run)
  } finally {
    await worker.stop()
    locker.release(true)
  }
})

test('a slot that was kept for what somebody else has had goes at once to the ring that waits for one', async () => {
  const run = await bench.begin('job', 'waits')
  const [ring] = await dispatchAll(bench.pool, 10_000)
  const sent = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let answers = 0
  const worker = await hearing(2, async statement => {
    if (statement !== 'answer-ring' || ++answers > 1) return
    sent.resolve()
    await answered.promise
  })
  try {
    const gone = worker.ring({ number: ring!.number + 1, count: 2 })
    await sent.promise
    const other = worker.ring(ring!)
    answered.resolve()
    await Promise.all([gone, other])
    await bench.ended(run)
  } finally {
    await worker.stop()
  }
})

test('a ring that was parked while slots were kept for what somebody else has had is taken as soon as they are free', async () => {
  const run = await bench.begin('job', 'parked')
  const [ring] = await dispatchAll(bench.pool, 60_000)
  const [looking, looked, sent, answered] = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  let answers = 0
  const worker = await hearing(2, async statement => {
    if (statement === 'look-at-ring') {
      looking!.resolve()
      await looked!.promise
    } else if (statement === 'answer-ring' && ++answers === 1) {
      sent!.resolve()
      await answered!.promise
    }
  })
  try {
    const other = worker.ring({ ...ring!, count: 3 })
    await looking!.promise
    const gone = worker.ring({ number: ring!.number + 1, count: 2 })
    await sent!.promise
    looked!.resolve()
    await other
    expect(answers).toBe(1)
    answered!.resolve()
    await gone
    await bench.ended(run)
  } finally {
    await worker.stop()
  }
})
