import { afterAll, beforeAll, expect, test } from 'vitest'
import { renewLeases } from '../../domain/jobs/lease.ts'
import { finishRun, lockFence, suspendRun } from '../../domain/jobs/record.ts'
import { dispatchDue } from '../../domain/jobs/sweep.ts'
import { beginRun } from '../../domain/jobs/workflow-run.ts'
import { connect } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { ExecutorOptions } from '../../workers/executor.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'
import { claimByHand, dispatchAll } from '../harness/batches.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'
import { executorOn } from '../harness/executor.ts'
import { until } from '../harness/until.ts'

// No worker of the bench runs here: claims and heartbeats are made by hand.
let bench: EngineFixture
beforeAll(async () => {
  bench = await engineFixture()
})
afterAll(() => bench.drop())

const claim = async (kind: string, runs: number[]) => claimByHand(bench.pool, kind, runs, 60_000)
const leased = async (run: number) =>
  (await bench.pool.query('select lease_until is not null as leased from due where id = $1', [run])).rows[0]?.leased

test('a heartbeat that comes after a run has gone to rest does not hold it: it is claimed as soon as it is due', async () => {
  const run = await bench.begin('rested', 'l1')
  const [held] = await claim('rested', [run])
  await transaction(bench.pool, async tx => {
    await lockFence(tx, held!)
    await suspendRun(tx, held!, 'waiting', 0)
  })
  const { renewed: prolonged, busy } = await renewLeases(bench.pool, [held!], 60_000)
  expect([...prolonged, ...busy]).toEqual([])
  expect(await leased(run)).toBe(false)
  expect(await claim('rested', [run])).toHaveLength(1)
})

test('a promise whose row is locked for long delays the heartbeat of no other, and is not taken for lost', async () => {
  const runs = [await bench.begin('busy', 'l2'), await bench.begin('busy', 'l3')]
  const held = await claim('busy', runs)
  const tx = await bench.pool.connect()
  await tx.query('begin')
  await lockFence(tx, held.find(({ id }) => id === runs[0])!)
  const { renewed: prolonged, busy } = await renewLeases(bench.pool, held, 60_000)
  expect([...prolonged]).toEqual([`busy:${runs[1]}`])
  expect([...busy]).toEqual([`busy:${runs[0]}`])
  await tx.query('commit')
  tx.release()
})

test('who was slow to begin a run that somebody else has ended leaves it ended', async () => {
  const run = await bench.begin('late', 'l4')
  const [slow] = await claim('late', [run])
  await bench.pool.query('update due set lease_until = null where id = $1', [run])
  const [owner] = await claim('late', [run])
  await transaction(bench.pool, async tx => {
    await lockFence(tx, owner!)
    await finishRun(tx, owner!, 'succeeded', null)
  })
  expect(await beginRun(bench.pool, slow!)).toBeNull()
  expect((await bench.pool.query('select status from runs where id = $1', [run])).rows).toEqual([{ status: 'succeeded' }])
})

const holderOf = (handler: JobHandler, options: Partial<ExecutorOptions>) => executorOn(bench.pool, handler, options)

const WAYS = ['after its ring', 'by the sweep'] as const
test.each(WAYS)('what is being claimed %s when the process stops is given back before it has stopped', async way => {
  const run = await bench.begin('stopped', way)
  const handler: JobHandler = {
    kind: 'stopped',
    concurrency: 100,
    handle: async (_claimed, { stopping }) => (stopping.aborted ? { is: 'interrupted' } : { is: 'lost' }),
  }
  const [ring] = way === 'by the sweep' ? [] : await dispatchAll(bench.pool, 60_000)
  const pool = connect({ url: bench.url, max: 1 })
  const busy = await pool.connect()
  const holding = holderOf(handler, { pool, beating: pool })
  const taken: Promise<unknown> =
    way === 'by the sweep' ? holding.claiming(handful => dispatchDue(pool, 100, handful)) : holding.take('stopped', ring!)
  await until('the claim waits for a connection', async () => (pool.waitingCount > 0 ? true : undefined))
  const stopped = holding.stop()
  setTimeout(() => busy.release(), 50)
  await stopped
  const { rows } = await bench.pool.query('select fence, lease_until from due where id = $1', [run])
  await taken
  await pool.end()
  expect(rows).toEqual([{ fence: 1, lease_until: null }])
})

test('what was lost is not held fast by heartbeats that get through again, though its work has not come to an end', async () => {
  const run = await bench.begin('captive', 'l6')
  let isAway = true
  let finish = () => {}
  const end = new Promise<void>(resolve => {
    finish = resolve
  })
  const lost = Promise.withResolvers<void>()
  const handler: JobHandler = {
    kind: 'captive',
    concurrency: 8,
    async handle(_claimed, { lease }) {
      lease.addEventListener('abort', () => {
        isAway = false
        lost.resolve()
      })
      await end
      return { is: 'lost' }
    },
  }
  const query = (...args: Parameters<typeof bench.pool.query>) =>
    isAway ? Promise.reject(new Error('the database is away')) : bench.pool.query(...args)
  const holding = holderOf(handler, { beating: { query } as unknown as typeof bench.pool, leaseMs: 300 })
  const [ring] = await dispatchAll(bench.pool, 900)
  await holding.take('captive', ring!)
  await lost.promise
  await until('another one to take it up', async () => ((await claim('captive', [run])).length > 0 ? true : undefined))
  finish()
  await holding.stop()
})

test('what came by a ring that had little of its time left is prolonged at once', async () => {
  const run = await bench.begin('short', 'l7')
  const ended = Promise.withResolvers<void>()
  const handler: JobHandler = {
    kind: 'short',
    concurrency: 8,
    async handle() {
      await ended.promise
      return { is: 'lost' }
    },
  }
  const holding = holderOf(handler, { leaseMs: 600_000 })
  const [ring] = await dispatchAll(bench.pool, 5_000)
  await holding.take('short', ring!)
  await until('a lease of its own', async () => {
    const { rowCount } = await bench.pool.query(
      `select 1 from due where id = $1 and lease_until > clock_timestamp() + interval '9 minutes' and batched_until is null`,
      [run],
    )
    return rowCount || undefined
  })
  ended.resolve()
  await holding.stop()
})
