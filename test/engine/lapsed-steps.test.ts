import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { UNRECORDED } from '../../domain/durable/jobs/lapse.ts'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'

// A worker that ended in the middle of a run, as the run's row tells it to the next worker.
let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterEach(() => fixture.clear())
afterAll(() => fixture.drop())

/** As if a worker had claimed the run and had ended. */
const lapse = (run: number) =>
  fixture.pool.query(`update due set fence = fence + 1, lease_until = clock_timestamp() - interval '1 second' where id = $1`, [run])
/** A run that a worker had claimed once. */
async function begun(kind: string): Promise<number> {
  const run = await fixture.begin(kind, 's', { afterSeconds: 3600 })
  await lapse(run)
  return run
}
const attemptsOf = async (run: number) =>
  (await fixture.pool.query<{ attempts: object[] }>('select attempts from steps where run = $1 order by n', [run])).rows.map(
    ({ attempts }) => attempts,
  )
const unrecorded = (number: number) => ({ number, duration_ms: null, error: UNRECORDED })
const recorded = (number: number, error: string | null) => ({ number, duration_ms: expect.any(Number), error })

test('an outward step that a worker did not live to record shows that attempt, in the first step without a record only', async () => {
  const run = await begun('mail')
  const attemptCounts: number[] = []
  await fixture.work([
    workflow('mail', async context => {
      await context.step('first', async () => {}, { record: async (_tx, _result, attempts) => void attemptCounts.push(attempts) })
      await context.step('second', async () => {})
    }),
  ])
  await fixture.advance(3600)
  expect((await fixture.ended(run)).status).toBe('succeeded')
  expect(await attemptsOf(run)).toMatchObject([[unrecorded(1), recorded(2, null)], [recorded(1, null)]])
  expect(attemptCounts).toEqual([2])
})

test('it uses up no attempt of the policy', async () => {
  const run = await begun('failing')
  await fixture.work([
    workflow('failing', async context => {
      await context.step('first', () => Promise.reject(new Error('no')))
    }),
  ])
  await fixture.advance(3600)
  expect((await fixture.ended(run)).status).toBe('failed')
  expect(await attemptsOf(run)).toMatchObject([[unrecorded(1), ...[2, 3, 4, 5, 6].map(number => recorded(number, 'no'))]])
})

test('a transaction that was not committed is no attempt, and no later step takes it for one', async () => {
  const run = await begun('inner')
  await fixture.work([
    workflow('inner', async context => {
      await context.transact('first', async () => {})
      await context.step('second', async () => {})
    }),
  ])
  await fixture.advance(3600)
  expect((await fixture.ended(run)).status).toBe('succeeded')
  expect(await attemptsOf(run)).toMatchObject([[recorded(1, null)], [recorded(1, null)]])
})

test('a worker that is told to stop in the middle of a step leaves an attempt; one that has not begun leaves none', async () => {
  const under = Promise.withResolvers<void>()
  let executions = 0
  const stopped = workflow('stopped', async context => {
    const hangs = (signal: AbortSignal) => {
      under.resolve()
      return new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
    }
    await context.step('first', ({ signal }) => (++executions > 1 ? Promise.resolve() : hangs(signal)), { limitMs: 60_000 })
  })
  const run = await fixture.begin('stopped', 's')
  const worker = await fixture.work([stopped])
  await under.promise
  const waiting = await fixture.begin('stopped', 'other', { afterSeconds: 3600 })
  await worker.stop()
  await fixture.work([stopped])
  await fixture.advance(3600)
  for (const one of [run, waiting]) expect((await fixture.ended(one)).status).toBe('succeeded')
  expect(await attemptsOf(run)).toMatchObject([[unrecorded(1), recorded(2, null)]])
  expect(await attemptsOf(waiting)).toMatchObject([[recorded(1, null)]])
}, 60_000)
