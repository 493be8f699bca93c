import { afterAll, beforeAll, expect, test } from 'vitest'
import { LeaseLost, lockFence } from '../../domain/durable/jobs/job.ts'
import { writeSteps } from '../../domain/durable/jobs/record.ts'
import { takeBatch } from '../../domain/durable/jobs/take-batch.ts'
import { connect } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { claimAndExpire, claimByHand, dispatchAll } from '../harness/batches.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

// No worker runs here: it would take the batches.
let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterAll(() => fixture.drop())

test('of 20 workers that take a batch at the same time one gets the run', async () => {
  const run = await fixture.begin('unheard', 's10')
  const [batch] = await dispatchAll(fixture.pool, 60_000)
  const taken = await Promise.all(Array.from({ length: 20 }, () => takeBatch(fixture.pool, 'unheard', batch!.number, 0)))
  expect(taken.flatMap(({ claimed }) => claimed)).toMatchObject([{ id: run, fence: 1 }])
})

test('after another claim the former owner can record nothing', async () => {
  const run = await fixture.begin('contested', 's11')
  const former = await claimAndExpire(fixture.pool, 'contested', run)
  const [owner] = await until('the lease expires', async () => {
    const claimed = await claimByHand(fixture.pool, 'contested', [run], 60_000)
    return claimed.length > 0 ? claimed : undefined
  })
  expect(owner!.fence).toBe(former.fence + 1)
  const record = (claimed: typeof owner) =>
    transaction(fixture.pool, async tx => {
      await lockFence(tx, claimed!)
      await writeSteps(tx, claimed!, [{ n: 0, name: 'x', status: 'succeeded', result: claimed!.fence, startedAt: '2026-01-01T00:00:00Z' }])
    })
  await expect(record(former)).rejects.toThrow(LeaseLost)
  await record(owner)
  expect(await fixture.steps(run)).toMatchObject([{ result: owner!.fence }])
})

test('a claim waits for a record under way and then sees it', async () => {
  const run = await fixture.begin('handover', 's12')
  const [owner] = await claimByHand(fixture.pool, 'handover', [run], 60_000)
  const tx = await fixture.pool.connect()
  await tx.query('begin')
  await lockFence(tx, owner!)
  await fixture.pool.query('select 1')
  const expire = fixture.pool.query('update due set fence = fence + 1 where id = $1', [run])
  await writeSteps(tx, owner!, [{ n: 0, name: 'x', status: 'succeeded', startedAt: '2026-01-01T00:00:00Z' }])
  await tx.query('commit')
  tx.release()
  await expire
  expect(await fixture.steps(run)).toHaveLength(1)
})

test('an owner that freezes in the middle of a record delays the next claim no longer than the lease, and its transaction fails', async () => {
  const run = await fixture.begin('frozen', 's15')
  const impatient = connect({ url: fixture.url, max: 1, idleInTransactionMs: 1_000 })
  const former = await claimAndExpire(impatient, 'frozen', run)
  const frozen = transaction(impatient, async tx => {
    await lockFence(tx, former)
    // As if frozen here: the database ends the transaction, and the next statement fails.
    await until(
      'another claim',
      async () => ((await claimByHand(fixture.pool, 'frozen', [run], 60_000)).length > 0 ? true : undefined),
      5_000,
    )
    await writeSteps(tx, former, [{ n: 0, name: 'x', status: 'succeeded', startedAt: '2026-01-01T00:00:00Z' }])
  })
  await expect(frozen).rejects.toThrow()
  expect(await fixture.steps(run)).toEqual([])
  await impatient.end()
})
