import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

let bench: EngineFixture
beforeAll(async () => {
  bench = await engineFixture()
})
afterAll(() => bench.drop())

test('a process that claims its own lost run anew keeps the new hold alive when the former one ends', async () => {
  const LEASE_MS = 300
  const began: number[] = []
  let letGo: (() => void)[] = []
  await bench.work(
    [
      workflow('regained', async context => {
        await context.step('long', ({ fence }) => {
          began.push(fence)
          return new Promise<void>(resolve => letGo.push(resolve))
        })
      }),
    ],
    { leaseMs: LEASE_MS },
  )
  const run = await bench.begin('regained', 's1')
  await until('the first hold', () => (began.length === 1 ? true : undefined))
  await bench.pool.query(`update due set fence = fence + 1, lease_until = null, batched_until = null where id = $1`, [run])
  await until('the second hold', () => (began.length === 2 ? true : undefined))
  const [former] = letGo
  letGo = letGo.slice(1)
  former!()
  const { rows } = await bench.pool.query<{ at: string }>(`select (clock_timestamp() + $1::int * interval '1 ms')::text as at`, [
    LEASE_MS * 3,
  ])
  await until('the lease is prolonged past the first one', async () => {
    const { rowCount } = await bench.pool.query('select 1 from due where id = $1 and lease_until > $2::timestamptz', [run, rows[0]!.at])
    return rowCount || undefined
  })
  for (const go of letGo) go()
  expect((await bench.ended(run)).status).toBe('succeeded')
  expect(began).toHaveLength(2)
})
