import { afterAll, beforeAll, expect, test } from 'vitest'
import { LeaseLost, lockFence, writeStep } from '../../domain/jobs/record.ts'
import { takeBatch } from '../../domain/jobs/take-batch.ts'
import { connect } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { claimByHand, dispatchAll } from '../harness/batches.ts'
import { type EngineFixture, engineFixture } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

// No worker runs here: it would hear the rings.
let bench: EngineFixture
beforeAll(async () => {
  bench = await engineFixture()
})
afterAll(() => bench.drop())

test('of 20 that hear a ring at the same time one gets the run', async () => {
  const run = await bench.begin('nobody-listens', 's10')
  const [ring] = await dispatchAll(bench.pool, 60_000)
  const answers = await Promise.all(Array.from({ length: 20 }, () => takeBatch(bench.pool, 'nobody-listens', ring!.number, 0)))
  expect(answers.flatMap(({ claimed }) => claimed)).toMatchObject([{ id: run, fence: 1 }])
})

test('after a takeover the former holder can record nothing', async () => {
  const run = await bench.begin('contested', 's11')
  const [former] = await claimByHand(bench.pool, 'contested', [run], 50)
  const [owner] = await until('the lease runs out', async () => {
    const claimed = await claimByHand(bench.pool, 'contested', [run], 60_000)
    return claimed.length > 0 ? claimed : undefined
  })
  expect(owner!.fence).toBe(former!.fence + 1)
  const record = (holder: typeof owner) =>
    transaction(bench.pool, async tx => {
      await lockFence(tx, holder!)
      await writeStep(tx, holder!, { n: 0, name: 'x', status: 'succeeded', result: holder!.fence, startedAt: '2026-01-01T00:00:00Z' })
    })
  await expect(record(former)).rejects.toThrow(LeaseLost)
  await record(owner)
  expect(await bench.steps(run)).toMatchObject([{ result: owner!.fence }])
})

test('a takeover waits for a record under way and then sees it', async () => {
  const run = await bench.begin('handover', 's12')
  const [holder] = await claimByHand(bench.pool, 'handover', [run], 60_000)
  const tx = await bench.pool.connect()
  await tx.query('begin')
  await lockFence(tx, holder!)
  await bench.pool.query('select 1')
  const expire = bench.pool.query('update due set fence = fence + 1 where id = $1', [run])
  await writeStep(tx, holder!, { n: 0, name: 'x', status: 'succeeded', startedAt: '2026-01-01T00:00:00Z' })
  await tx.query('commit')
  tx.release()
  await expire
  expect(await bench.steps(run)).toHaveLength(1)
})

test('a holder frozen in the middle of a record delays its successor no longer than the lease, and does not fall over itself', async () => {
  const run = await bench.begin('frozen', 's15')
  const impatient = connect({ url: bench.url, max: 1, idleInTransactionMs: 100 })
  const [former] = await claimByHand(impatient, 'frozen', [run], 50)
  const frozen = transaction(impatient, async tx => {
    await lockFence(tx, former!)
    // As if stopped here: the database ends the transaction, and the next statement fails.
    await until('a takeover', async () => ((await claimByHand(bench.pool, 'frozen', [run], 60_000)).length > 0 ? true : undefined), 5_000)
    await writeStep(tx, former!, { n: 0, name: 'x', status: 'succeeded', startedAt: '2026-01-01T00:00:00Z' })
  })
  await expect(frozen).rejects.toThrow()
  expect(await bench.steps(run)).toEqual([])
  await impatient.end()
})
