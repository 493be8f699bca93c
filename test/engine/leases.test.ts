import { afterAll, beforeAll, expect, test } from 'vitest'
import { lockFence } from '../../domain/durable/jobs/job.ts'
import { renewLeases } from '../../domain/durable/jobs/lease.ts'
import { finishRun, suspendRun } from '../../domain/durable/jobs/record.ts'
import { dispatchDue } from '../../domain/durable/jobs/sweep.ts'
import { beginRun } from '../../domain/durable/jobs/workflow-run.ts'
import { connect } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { JobHandler } from '../../workflows/engine/handler.ts'
import { claimByHand, dispatchAll } from '../harness/batches.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'
import { executorOn } from '../harness/executor.ts'
import { until } from '../harness/until.ts'

// No worker runs here: the tests claim and renew by hand.
let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterAll(() => fixture.drop())

const claim = async (kind: string, runs: number[]) => claimByHand(fixture.pool, kind, runs, 60_000)
const leased = async (run: number) =>
  (await fixture.pool.query('select lease_until is not null as leased from due where id = $1', [run])).rows[0]?.leased

test('a heartbeat that comes after a run was suspended does not lease it: the run is claimed as soon as it is due', async () => {
  const run = await fixture.begin('suspended', 'l1')
  const [held] = await claim('suspended', [run])
  await transaction(fixture.pool, async tx => {
    await lockFence(tx, held!)
    await suspendRun(tx, held!, 'waiting', 0)
  })
  const { renewed, busy } = await renewLeases(fixture.pool, [held!], 60_000)
  expect([...renewed, ...busy]).toEqual([])
  expect(await leased(run)).toBe(false)
  expect(await claim('suspended', [run])).toHaveLength(1)
})

test('a job whose row is locked for long delays the heartbeat of no other job, and does not count as lost', async () => {
  const runs = [await fixture.begin('busy', 'l2'), await fixture.begin('busy', 'l3')]
  const held = await claim('busy', runs)
  const tx = await fixture.pool.connect()
  await tx.query('begin')
  await lockFence(tx, held.find(({ id }) => id === runs[0])!)
  const { renewed, busy } = await renewLeases(fixture.pool, held, 60_000)
  expect([...renewed]).toEqual([`busy:${runs[1]}`])
  expect([...busy]).toEqual([`busy:${runs[0]}`])
  await tx.query('commit')
  tx.release()
})

test('a slow worker does not begin a run that another worker has ended', async () => {
  const run = await fixture.begin('late', 'l4')
  const [slow] = await claim('late', [run])
  await fixture.pool.query('update due set lease_until = null where id = $1', [run])
  const [owner] = await claim('late', [run])
  await transaction(fixture.pool, async tx => {
    await lockFence(tx, owner!)
    await finishRun(tx, owner!, 'succeeded', null)
  })
  expect(await beginRun(fixture.pool, slow!)).toBeNull()
  expect((await fixture.pool.query('select status from runs where id = $1', [run])).rows).toEqual([{ status: 'succeeded' }])
})

const WAYS = ['with its batch', 'by the sweep'] as const
test.each(WAYS)('a job that is being claimed %s when the process stops is released before it has stopped', async way => {
  const run = await fixture.begin('stopped', way)
  const handler: JobHandler = {
    kind: 'stopped',
    concurrency: 100,
    handle: async (_claimed, { stopping }) => (stopping.aborted ? { is: 'interrupted' } : { is: 'lost' }),
  }
  const [batch] = way === 'by the sweep' ? [] : await dispatchAll(fixture.pool, 60_000)
  const pool = connect({ url: fixture.url, max: 1 })
  const busy = await pool.connect()
  const jobs = executorOn(fixture.pool, handler, { pool, heartbeatPool: pool })
  const taken: Promise<unknown> =
    way === 'by the sweep' ? jobs.claimBySweep(offer => dispatchDue(pool, ['stopped'], 100, offer)) : jobs.takeBatch('stopped', batch!)
  await until('the claim waits for a connection', async () => (pool.waitingCount > 0 ? true : undefined))
  const stopped = jobs.stop()
  setTimeout(() => busy.release(), 50)
  await stopped
  const { rows } = await fixture.pool.query('select fence, lease_until from due where id = $1', [run])
  await taken
  await pool.end()
  expect(rows).toEqual([{ fence: 1, lease_until: null }])
})

test('later heartbeats do not renew a lost lease, though its job has not ended', async () => {
  const run = await fixture.begin('lost', 'l6')
  let isAway = true
  let finish = () => {}
  const end = new Promise<void>(resolve => {
    finish = resolve
  })
  const lost = Promise.withResolvers<void>()
  const handler: JobHandler = {
    kind: 'lost',
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
  const query = (...args: Parameters<typeof fixture.pool.query>) =>
    isAway ? Promise.reject(new Error('the database is away')) : fixture.pool.query(...args)
  const jobs = executorOn(fixture.pool, handler, { heartbeatPool: { query } as unknown as typeof fixture.pool, leaseMs: 300 })
  const [batch] = await dispatchAll(fixture.pool, 900)
  await jobs.takeBatch('lost', batch!)
  await lost.promise
  await until('another claim', async () => ((await claim('lost', [run])).length > 0 ? true : undefined))
  finish()
  await jobs.stop()
})

test('a heartbeat that arrives after its worker has given the job up does not keep it from others', async () => {
  const run = await fixture.begin('late-heartbeat', 'l10')
  const lost = Promise.withResolvers<void>()
  const handler: JobHandler = {
    kind: 'late-heartbeat',
    concurrency: 8,
    async handle(_claimed, { lease }) {
      await new Promise(resolve => lease.addEventListener('abort', resolve))
      lost.resolve()
      return { is: 'lost' }
    },
  }
  let arrived = 0
  const query = async (...args: Parameters<typeof fixture.pool.query>) => {
    await lost.promise
    const result = await fixture.pool.query(...args)
    arrived++
    return result
  }
  const jobs = executorOn(fixture.pool, handler, { heartbeatPool: { query } as unknown as typeof fixture.pool, leaseMs: 10_000 })
  const [batch] = await dispatchAll(fixture.pool, 3_000)
  await jobs.takeBatch('late-heartbeat', batch!)
  await until('the heartbeat', () => (arrived > 0 ? true : undefined))
  const { rows } = await fixture.pool.query('select fence from due where id = $1', [run])
  expect(rows).toEqual([{ fence: 1 }])
  // Long before the renewed lease would run out.
  await expect
    .poll(async () => (await fixture.pool.query('select lease_until < clock_timestamp() as "isOver" from due where id = $1', [run])).rows, {
      timeout: 3_000,
    })
    .toEqual([{ isOver: true }])
  // The tests below dispatch whatever is free.
  expect(await claim('late-heartbeat', [run])).toHaveLength(1)
  await jobs.stop()
})

test('the lease of a job of a batch that was taken late is renewed at once', async () => {
  const run = await fixture.begin('short', 'l7')
  const ended = Promise.withResolvers<void>()
  const handler: JobHandler = {
    kind: 'short',
    concurrency: 8,
    async handle() {
      await ended.promise
      return { is: 'lost' }
    },
  }
  const jobs = executorOn(fixture.pool, handler, { leaseMs: 600_000 })
  const [batch] = await dispatchAll(fixture.pool, 5_000)
  await jobs.takeBatch('short', batch!)
  await until('a lease of its own', async () => {
    const { rowCount } = await fixture.pool.query(
      `select 1 from due where id = $1 and lease_until > clock_timestamp() + interval '9 minutes' and batched_until is null`,
      [run],
    )
    return rowCount || undefined
  })
  ended.resolve()
  await jobs.stop()
})

test('a job that ended because the database was away is released when it is back; a job that ended by another error is not', async () => {
  const [cut, broken] = [await fixture.begin('outage', 'l8'), await fixture.begin('outage', 'l9')]
  const handler: JobHandler = {
    kind: 'outage',
    concurrency: 8,
    handle: async ({ id }) => {
      throw id === cut ? Object.assign(new Error('terminating connection'), { code: '57P01' }) : new TypeError('a fault')
    },
  }
  let refused = 0
  const query = (...args: Parameters<typeof fixture.pool.query>) => {
    const isRelease = typeof args[0] === 'string' && args[0].includes('lease_until = null')
    return isRelease && refused++ === 0 ? Promise.reject(new Error('the database is away')) : fixture.pool.query(...args)
  }
  const jobs = executorOn(fixture.pool, handler, { pool: Object.assign(Object.create(fixture.pool), { query }) })
  const [batch] = await dispatchAll(fixture.pool, 60_000)
  await jobs.takeBatch('outage', batch!)
  await until('the release', async () => ((await leased(cut)) ? undefined : true))
  expect([await leased(broken), refused]).toEqual([true, 2])
  await jobs.stop()
})
