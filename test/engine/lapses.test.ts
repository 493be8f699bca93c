import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ClaimedJob } from '../../domain/durable/jobs/job.ts'
import { noteUnbegun, takeLapse } from '../../domain/durable/jobs/lapse.ts'
import { releaseLeases, renewLeases } from '../../domain/durable/jobs/lease.ts'
import { type Batch, dispatchDue, type SweepOffer } from '../../domain/durable/jobs/sweep.ts'
import { takeBatch } from '../../domain/durable/jobs/take-batch.ts'
import { transaction } from '../../store/transaction.ts'
import { dispatchAll } from '../harness/batches.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

// Which claims have lapsed, as the statements of the sweep and of a batch know it. No worker runs here.
let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterEach(() => fixture.clear())
afterAll(() => fixture.drop())

const LEASE_MS = 30_000
const BATCH_MS = 10_000
const offer: SweepOffer = {
  capacity: new Map([['job', { most: 10, fullEnvironments: [], fullDestinations: [] }]]),
  leaseMs: LEASE_MS,
  batchMs: BATCH_MS,
  limits: new Map(),
}

/** A sweep that claims the jobs itself. */
const claim = () =>
  until('a sweep that claims', async () => {
    const swept = await dispatchDue(fixture.pool, ['job'], 100, offer)
    return swept && swept.claimed.length > 0 ? swept.claimed : undefined
  })
const take = async (batches: readonly Batch[]) =>
  (await Promise.all(batches.map(({ number }) => takeBatch(fixture.pool, 'job', number, 0)))).flatMap(({ claimed }) => claimed)
/** As if the time of the leases had passed. */
const expire = () =>
  fixture.pool.query(
    `with b as (update batches set until = until - interval '1 hour')
     update due set lease_until = lease_until - interval '1 hour', batched_until = batched_until - interval '1 hour'`,
  )
const taken = (claimed: ClaimedJob) => transaction(fixture.pool, tx => takeLapse(tx, claimed))
const now = async () => (await fixture.pool.query<{ t: string }>('select environment_now($1)::text as t', [fixture.environment])).rows[0]!.t

test('a claim whose lease ran out has lapsed: the next claim says so once, with the time at which the lease began', async () => {
  await fixture.advance(86_400)
  const from = await now()
  await fixture.begin('job', 's')
  const [first] = await claim()
  const to = await now()
  expect(first).not.toHaveProperty('hasLapsed')
  expect(await taken(first!)).toBeNull()
  await expire()
  const [second] = await claim()
  expect(second).toMatchObject({ fence: 2, hasLapsed: true })
  expect(await taken(first!)).toBeNull()
  const lapsed = Date.parse((await taken(second!))!) + 3_600_000
  expect(lapsed).toBeGreaterThanOrEqual(Math.floor(Date.parse(from) / 1000) * 1000)
  expect(lapsed).toBeLessThanOrEqual(Date.parse(to))
  expect(await taken(second!)).toBeNull()
})

test('so has that of a job whose batch was taken, whether the next claim is of a batch or of a sweep', async () => {
  await fixture.begin('job', 's')
  await take(await dispatchAll(fixture.pool, BATCH_MS))
  await expire()
  const [again] = await take(await dispatchAll(fixture.pool, BATCH_MS))
  expect(again).toMatchObject({ fence: 2, hasLapsed: true })
  await expire()
  // Nobody has read it: it is not forgotten, and there is one.
  expect(await claim()).toMatchObject([{ fence: 3, hasLapsed: true }])
})

test('the jobs of a batch that nobody took were not begun, however many sweeps find them', async () => {
  const ids = await fixture.beginMany('job', 5, fixture.environment)
  await dispatchAll(fixture.pool, BATCH_MS)
  await expire()
  for (let n = 0; n < ids.length; n++) {
    // A window of one job.
    const swept = await until('a sweep', async () => (await dispatchDue(fixture.pool, ['job'], 1, offer)) ?? undefined)
    expect(swept.claimed).toMatchObject([{ fence: 2 }])
    expect(swept.claimed[0]).not.toHaveProperty('hasLapsed')
  }
  await until('a sweep', async () => (await dispatchDue(fixture.pool, ['job'], 1, offer)) ?? undefined)
  expect((await fixture.pool.query('select 1 from batches')).rowCount).toBe(0)
})

test('nor were those that the worker has dropped', async () => {
  const [begun, dropped] = await fixture.beginMany('job', 2, fixture.environment)
  const claimed = await take(await dispatchAll(fixture.pool, BATCH_MS))
  await noteUnbegun(
    fixture.pool,
    'job',
    claimed.filter(({ id }) => id === dropped),
  )
  // A sweep before the leases run out does not forget it.
  await dispatchAll(fixture.pool, BATCH_MS)
  await expire()
  const again = await claim()
  expect(again.map(({ id, hasLapsed = false }) => [id, hasLapsed]).sort()).toEqual([
    [begun, true],
    [dropped, false],
  ])
})

test('a released job was not begun, unless its effect may have happened; a renewed lease has not lapsed', async () => {
  await fixture.beginMany('job', 2, fixture.environment)
  const [idle, acting] = await claim()
  await expire()
  await renewLeases(fixture.pool, [idle!, acting!], LEASE_MS)
  await releaseLeases(fixture.pool, [idle!, { ...acting!, unrecordedMs: 2_000 }])
  const again = await claim()
  expect(again.map(({ id, hasLapsed = false }) => [id, hasLapsed]).sort()).toEqual([
    [idle!.id, false],
    [acting!.id, true],
  ])
})
