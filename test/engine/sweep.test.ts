import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Batch, dispatchDue } from '../../domain/durable/jobs/sweep.ts'
import { LOCK } from '../../store/advisory-locks.ts'
import type { Pool } from '../../store/connect.ts'
import type { Queue } from '../../workers/queue.ts'
import { startSweep } from '../../workers/sweep.ts'
import { startWorker } from '../../workers/worker.ts'
import { workflowHandlers } from '../../workflows/engine/execute.ts'
import { dispatchAll, idsOfBatches } from '../harness/batches.ts'
import { type EngineFixture, engineFixture, QUICK, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterEach(() => fixture.clear())
afterAll(() => fixture.drop())

const job = (concurrency: number) => workflow('job', async () => {}, { concurrency })

/** A queue that carries nothing: the kinds that were announced, and the listeners themselves. */
function silentQueue() {
  const announced: string[] = []
  const listeners = new Map<string, (batch: Batch) => Promise<void>>()
  const queue: Queue = {
    announce: async kind => {
      announced.push(kind)
    },
    listen: async (kind, onBatch) => {
      listeners.set(kind, onBatch)
    },
    close: async () => {},
  }
  return { queue, announced, listeners }
}

test('one sweep at a time: a second one meanwhile dispatches nothing', async () => {
  const run = await fixture.begin('job', 'one')
  const other = await fixture.pool.connect()
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock($1, 0)', [LOCK.sweep])
  expect(await dispatchDue(fixture.pool, ['job'], 10)).toBeNull()
  await other.query('rollback')
  other.release()
  const swept = await dispatchDue(fixture.pool, ['job'], 10)
  expect(swept).toMatchObject({ batches: [{ kind: 'job', count: 1 }], claimed: [] })
  expect(await idsOfBatches(fixture.pool, swept!.batches)).toEqual([run])
})

test('the worker that sweeps claims a few jobs itself if it has ample capacity; otherwise they are announced', async () => {
  const { queue, announced } = silentQueue()
  await fixture.work([job(1_000)], { queue })
  await fixture.ended(await fixture.begin('job', 'taken'))
  expect(announced).toEqual([])
  const narrow = workflow('narrow', async () => {}, { concurrency: 1 })
  await fixture.work([narrow], { queue })
  await fixture.begin('narrow', 'announced')
  await expect.poll(() => announced, { timeout: 30_000 }).toContain('narrow')
})

/** A worker that gets batches from the test alone, because it cannot sweep. `before`: before a statement of that name is sent. */
async function listeningWorker(concurrency: number, before: (statement: string) => Promise<unknown>) {
  const { queue, listeners } = silentQueue()
  const sweeper = await fixture.pool.connect()
  await sweeper.query('begin')
  await sweeper.query('select pg_advisory_xact_lock($1, 0)', [LOCK.sweep])
  const pool: Pool = Object.create(fixture.pool, {
    query: {
      value: async (query: { name?: string }, values?: unknown[]) => {
        if (query.name) await before(query.name)
        return fixture.pool.query(query as never, values as never)
      },
    },
  })
  const worker = await startWorker({
    pool,
    url: fixture.url,
    queue,
    // One project may use the whole capacity.
    handlers: workflowHandlers([job(concurrency)], { pool: fixture.pool, policies: QUICK }).map(handler => ({ ...handler, share: 1 })),
    leaseMs: 1000,
    log: pino({ level: 'silent' }),
  })
  return {
    receive: listeners.get('job')!,
    async stop() {
      await worker.stop()
      sweeper.release(true)
    },
  }
}

test('a batch is taken though the row of its job is locked: the batch is not lost', async () => {
  const run = await fixture.begin('job', 'locked')
  const [batch] = await dispatchAll(fixture.pool, 10_000)
  const locker = await fixture.pool.connect()
  await locker.query('begin')
  await locker.query('select 1 from due where id = $1 for no key update', [run])
  const worker = await listeningWorker(8, async () => {})
  try {
    await worker.receive(batch!)
    await locker.query('rollback')
    await fixture.ended(run)
  } finally {
    await worker.stop()
    locker.release(true)
  }
})

test('capacity that was reserved for a batch of another worker goes at once to the batch that waits for capacity', async () => {
  const run = await fixture.begin('job', 'waits')
  const [batch] = await dispatchAll(fixture.pool, 10_000)
  const sent = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let takes = 0
  const worker = await listeningWorker(2, async statement => {
    if (statement !== 'take-batch' || ++takes > 1) return
    sent.resolve()
    await released.promise
  })
  try {
    const gone = worker.receive({ number: batch!.number + 1, count: 2 })
    await sent.promise
    const other = worker.receive(batch!)
    released.resolve()
    await Promise.all([gone, other])
    await fixture.ended(run)
  } finally {
    await worker.stop()
  }
})

test('a batch that was parked while capacity was reserved for a batch of another worker is taken as soon as the capacity is free', async () => {
  const run = await fixture.begin('job', 'parked')
  const [batch] = await dispatchAll(fixture.pool, 60_000)
  const [looking, looked, sent, released] = Array.from({ length: 4 }, () => Promise.withResolvers<void>())
  let takes = 0
  const worker = await listeningWorker(2, async statement => {
    if (statement === 'groups-of-batch') {
      looking!.resolve()
      await looked!.promise
    } else if (statement === 'take-batch' && ++takes === 1) {
      sent!.resolve()
      await released!.promise
    }
  })
  try {
    const other = worker.receive({ ...batch!, count: 3 })
    await looking!.promise
    const gone = worker.receive({ number: batch!.number + 1, count: 2 })
    await sent!.promise
    looked!.resolve()
    await other
    expect(takes).toBe(1)
    released!.resolve()
    await gone
    await fixture.ended(run)
  } finally {
    await worker.stop()
  }
})

test('a queue that fails for one kind is told once, and its end when it works for all kinds', async () => {
  const failing = new Set(['one'])
  const { queue } = silentQueue()
  queue.announce = async kind => {
    if (failing.has(kind)) throw new Error('refused')
  }
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: line => void lines.push(JSON.parse(line).msg) })
  const batch = (kind: string) => ({ kind, number: 1, count: 1 })
  let sweeps = 0
  const sweep = startSweep({
    pool: fixture.pool,
    queue,
    kinds: ['one', 'other'],
    takeBatch: async () => {},
    claimBySweep: async () => {
      sweeps++
      return { batches: [batch('one'), batch('other')], claimed: [] }
    },
    log,
  })
  const swept = async (count: number) => {
    const from = sweeps
    await until('sweeps', () => {
      sweep.wake()
      return sweeps >= from + count || undefined
    })
  }
  await swept(3)
  expect(lines).toEqual(['the queue is down: claiming without it'])
  failing.clear()
  await swept(2)
  await sweep.stop()
  expect(lines).toEqual(['the queue is down: claiming without it', 'the queue works again'])
})
