import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { BACKLOG, BATCH_SIZE, type Batch, dispatchDue, type SpareCapacity, type SweepOffer } from '../../domain/durable/jobs/sweep.ts'
import { takeBatch } from '../../domain/durable/jobs/take-batch.ts'
import { forgetWorker, noteWorker } from '../../domain/durable/jobs/workers.ts'
import { idsOfBatches } from '../harness/batches.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'

// What the statements of a sweep and of a worker that takes a batch do. No worker runs here.
let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterEach(() => fixture.clear())
afterAll(() => fixture.drop())

/** None while another sweep is under way. */
const dispatch = async (window: number) => (await dispatchDue(fixture.pool, ['job'], window))?.batches ?? []
const idsOf = (batches: readonly Batch[]) => idsOfBatches(fixture.pool, batches)
const inOrder = (numbers: number[]) => [...numbers].sort((a, b) => a - b)

/** Capacity for so many jobs of all but the full environments and destinations. */
const offerOf = (most: number, full: Partial<SpareCapacity> = {}): SweepOffer => ({
  capacity: new Map([['job', { most, fullEnvironments: [], fullDestinations: [], ...full }]]),
  leaseMs: 60_000,
  batchMs: 10_000,
  limits: new Map(),
})

const beginMany = (count: number, environment: number) => fixture.beginMany('job', count, environment)

test('the window takes turns between environments and gives none more than half', async () => {
  const many = await beginMany(40, fixture.environment)
  const few = await beginMany(3, fixture.otherEnvironment)
  const dispatched = await idsOf(await dispatch(20))
  expect(few.every(id => dispatched.includes(id))).toBe(true)
  expect(dispatched.filter(id => many.includes(id))).toHaveLength(10)
})

test('a dispatched job is not dispatched again until the lease of its batch expires', async () => {
  const ids = await beginMany(5, fixture.environment)
  expect(inOrder(await idsOf(await dispatch(100)))).toEqual(inOrder(ids))
  expect(await dispatch(100)).toEqual([])
  await fixture.pool.query(`update due set lease_until = clock_timestamp() - interval '1 second' where id = $1`, [ids[0]])
  expect(await idsOf(await dispatch(100))).toEqual([ids[0]])
})

test('outstanding batches count: the backlog stays in the database', async () => {
  await beginMany(30, fixture.environment)
  const [batch, ...others] = await dispatch(10)
  expect([batch!.count, others]).toEqual([5, []])
  expect(await dispatch(10)).toHaveLength(0)
  await takeBatch(fixture.pool, 'job', batch!.number, 0)
  expect(await dispatch(10)).toMatchObject([{ count: 5 }])
})

test('a batch has no more jobs than the batch size of its kind, and one priority: the most urgent is the first', async () => {
  const urgent = await beginMany(3, fixture.environment)
  const rest = await beginMany(BATCH_SIZE + 5, fixture.otherEnvironment)
  await fixture.pool.query('update due set priority = 1 where id = any ($1::bigint[])', [rest])
  const batches = await dispatch(6_000)
  expect(batches.map(({ count }) => count)).toEqual([3, BATCH_SIZE, 5])
  expect(inOrder(await idsOf(batches.slice(0, 1)))).toEqual(inOrder(urgent))
  expect(inOrder(await idsOf(batches.slice(1)))).toEqual(inOrder(rest))
  await fixture.pool.query('update due set lease_until = null')
  const small = await dispatchDue(fixture.pool, ['job'], 6_000, {
    ...offerOf(0),
    capacity: new Map(),
    limits: new Map([['job', { batchSize: 100, perWorker: 6_000 }]]),
  })
  expect(small!.batches.map(({ count }) => count)).toEqual([3, 100, 100, 5])
})

test('of a kind as many jobs are dispatched as its live workers can do soon, and of each environment some', async () => {
  const kinds = ['job', 'other']
  const limits = new Map([['job', { batchSize: 5, perWorker: 8 }]])
  const sweep = async () => {
    const { batches } = (await dispatchDue(fixture.pool, kinds, 6_000, { ...offerOf(0), capacity: new Map(), limits }))!
    return {
      jobs: await idsOf(batches.filter(({ kind }) => kind === 'job')),
      others: await idsOf(batches.filter(({ kind }) => kind === 'other')),
    }
  }
  const many = await beginMany(30, fixture.environment)
  const few = await beginMany(2, fixture.otherEnvironment)
  const others = await fixture.beginMany('other', 30, fixture.environment)
  const first = await sweep()
  expect(inOrder(first.jobs)).toEqual(inOrder([...many.slice(0, 4), ...few]))
  expect(inOrder(first.others)).toEqual(inOrder(others))
  expect((await sweep()).jobs).toEqual([])

  const workers = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000003']
  for (const id of workers) await noteWorker(fixture.pool, id, id === workers[2] ? ['other'] : kinds)
  expect(inOrder((await sweep()).jobs)).toEqual(inOrder(many.slice(4, 8)))
  await fixture.pool.query(`update workers set seen_at = clock_timestamp() - interval '61 seconds' where id = $1`, [workers[0]])
  await fixture.pool.query('update due set lease_until = null')
  await fixture.pool.query('delete from batches')
  expect((await sweep()).jobs).toHaveLength(6)
  for (const id of workers) await forgetWorker(fixture.pool, id)
})

test('however small the window is, no environment waits behind the backlogs of others', async () => {
  const environments = (await fixture.pool.query<{ id: number }>('select id from environments order by id')).rows
  expect(environments.length).toBeGreaterThan(1)
  const first: number[] = []
  for (const { id } of environments) first.push((await beginMany(3, id))[0]!)
  const limits = new Map([['job', { batchSize: 1, perWorker: 1 }]])
  const { batches } = (await dispatchDue(fixture.pool, ['job'], 6_000, { ...offerOf(0), capacity: new Map(), limits }))!
  expect(inOrder(await idsOf(batches))).toEqual(inOrder(first))
})

test('of many workers that take the same batch one gets its jobs; a job that was finished, rescheduled or claimed meanwhile goes to none', async () => {
  const [finished, rescheduled, claimedAgain, ...ours] = await beginMany(12, fixture.environment)
  const [batch] = await dispatch(100)
  await fixture.pool.query('delete from due where id = $1', [finished])
  await fixture.pool.query(`update due set due_at = due_at + interval '1 day' where id = $1`, [rescheduled])
  await fixture.pool.query('update due set fence = fence + 1 where id = $1', [claimedAgain])
  const taken = await Promise.all(Array.from({ length: 10 }, () => takeBatch(fixture.pool, 'job', batch!.number, 0)))
  const granted = taken.flatMap(({ claimed }) => claimed)
  expect(inOrder(granted.map(({ id }) => id))).toEqual(inOrder(ours))
  expect(taken.filter(({ claimed }) => claimed.length > 0)).toHaveLength(1)
})

test('a batch whose lease is nearly over is not taken', async () => {
  await beginMany(2, fixture.environment)
  const [batch] = await dispatch(100)
  expect((await takeBatch(fixture.pool, 'job', batch!.number, 10_001)).claimed).toEqual([])
  const { claimed, leftMs } = await takeBatch(fixture.pool, 'job', batch!.number, 1)
  expect(claimed).toHaveLength(2)
  const { rows } = await fixture.pool.query<{ ms: number }>(
    'select (extract(epoch from min(lease_until) - clock_timestamp()) * 1000)::float8 as ms from due',
  )
  expect(leftMs).toBeGreaterThanOrEqual(rows[0]!.ms)
  expect(leftMs).toBeLessThanOrEqual(10_000)
})

test('the sweep claims a few jobs of a kind itself; more jobs, or jobs of another kind, are dispatched', async () => {
  const [first, second] = await beginMany(2, fixture.environment)
  const other = await fixture.begin('other', 'o')
  await fixture.pool.query(`update due set destination = 7 where id = $1`, [second])
  const sweep = (count: number) => dispatchDue(fixture.pool, ['job', 'other'], 100, offerOf(count))
  const { batches, claimed } = (await sweep(2))!
  expect(batches).toMatchObject([{ kind: 'other', count: 1 }])
  expect(await idsOf(batches)).toEqual([other])
  expect(claimed.sort((a, b) => a.id - b.id)).toEqual([
    { kind: 'job', id: first, fence: 1, environment: fixture.environment, destination: null, dueAt: expect.any(Number) },
    { kind: 'job', id: second, fence: 1, environment: fixture.environment, destination: 7, dueAt: expect.any(Number) },
  ])
  const { rows } = await fixture.pool.query(
    `select id, fence, lease_until > now() + interval '50 seconds' as leased, batched_until from due where kind = 'job' order by id`,
  )
  expect(rows).toEqual([first, second].map(id => ({ id, fence: 1, leased: true, batched_until: null })))
  expect(await sweep(2)).toEqual({ batches: [], claimed: [] })

  const more = await beginMany(3, fixture.otherEnvironment)
  const next = (await sweep(2))!
  expect([inOrder(await idsOf(next.batches)), next.claimed]).toEqual([inOrder(more), []])
})

test('a claimed job says in real time when it fell due, whatever the clock of its environment shows, and whoever claims it', async () => {
  await beginMany(2, fixture.environment)
  await fixture.advance(86_400)
  const { rows } = await fixture.pool.query<{ ms: number }>(
    `with due_then as (update due d set due_at = environment_now(d.environment) - interval '5 seconds' returning due_at, environment)
     select (extract(epoch from d.due_at - e.clock_offset) * 1000)::float8 as ms from due_then d join environments e on e.id = d.environment`,
  )
  const { claimed } = (await dispatchDue(fixture.pool, ['job'], 1, offerOf(1)))!
  const [batch] = await dispatch(1)
  const taken = await takeBatch(fixture.pool, 'job', batch!.number, 0)
  expect([...claimed, ...taken.claimed].map(({ dueAt }) => dueAt)).toEqual(rows.map(({ ms }) => ms))
  const ago = Date.now() - rows[0]!.ms
  expect(ago).toBeGreaterThan(4_000)
  expect(ago).toBeLessThan(60_000)
})

test('behind the backlog of one environment the few jobs of another are claimed all the same, the fewest first', async () => {
  const many = await beginMany(BACKLOG, fixture.environment)
  const few = await beginMany(2, fixture.otherEnvironment)
  const { batches, claimed } = (await dispatchDue(fixture.pool, ['job'], 100, offerOf(5)))!
  expect([inOrder(await idsOf(batches)), inOrder(claimed.map(({ id }) => id))]).toEqual([inOrder(many), inOrder(few)])
  const [alone] = await beginMany(1, fixture.environment)
  const three = await beginMany(3, fixture.otherEnvironment)
  const next = (await dispatchDue(fixture.pool, ['job'], 100, offerOf(3)))!
  expect([next.claimed.map(({ id }) => id), inOrder(await idsOf(next.batches))]).toEqual([[alone], inOrder(three)])
})

test('nothing is claimed of an environment or for a destination that is full', async () => {
  const [plain, full] = await beginMany(2, fixture.environment)
  await fixture.pool.query('update due set destination = 7 where id = $1', [full])
  const [other] = await beginMany(1, fixture.otherEnvironment)
  const offer = offerOf(5, { fullEnvironments: [fixture.otherEnvironment], fullDestinations: [7] })
  const { batches, claimed } = (await dispatchDue(fixture.pool, ['job'], 100, offer))!
  expect([inOrder(await idsOf(batches)), claimed.map(({ id }) => id)]).toEqual([inOrder([full!, other!]), [plain]])
})

test('sweeps that claim, and several workers that take each batch, at the same time: each job is granted once', async () => {
  for (let round = 0; round < 20; round++) {
    await fixture.pool.query('delete from due')
    await fixture.pool.query('delete from batches')
    const ids = [...(await beginMany(12, fixture.environment)), ...(await beginMany(BACKLOG + 5, fixture.otherEnvironment))]
    const granted: { id: number; fence: number }[] = []
    const sweepAndTake = async () => {
      const swept = await dispatchDue(fixture.pool, ['job'], 100, offerOf(12))
      granted.push(...(swept?.claimed ?? []))
      const announced = (swept?.batches ?? []).flatMap(({ number }) => [number, number])
      const taken = await Promise.all(announced.map(number => takeBatch(fixture.pool, 'job', number, 0)))
      granted.push(...taken.flatMap(({ claimed }) => claimed))
    }
    await Promise.all(Array.from({ length: 4 }, sweepAndTake))
    const byId = (a: number[], b: number[]) => a[0]! - b[0]!
    expect(granted.map(({ id, fence }) => [id, fence]).sort(byId)).toEqual(ids.map(id => [id, 1]).sort(byId))
  }
})

test('sweeps at the same time dispatch nothing twice', async () => {
  await beginMany(50, fixture.environment)
  for (let round = 0; round < 20; round++) {
    await fixture.pool.query('update due set lease_until = null')
    await fixture.pool.query('delete from batches')
    const dispatched = await idsOf((await Promise.all(Array.from({ length: 5 }, () => dispatch(100)))).flat())
    expect([dispatched.length, new Set(dispatched).size]).toEqual([50, 50])
  }
})
