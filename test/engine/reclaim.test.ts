import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

let fixture: EngineFixture
beforeAll(async () => {
  fixture = await engineFixture()
})
afterAll(() => fixture.drop())

test('a process that claims its own lost run again keeps the new lease alive when the former execution ends', async () => {
  const LEASE_MS = 2_000
  const began: number[] = []
  let ends: (() => void)[] = []
  await fixture.work(
    [
      workflow('reclaimed', async context => {
        await context.step('long', ({ fence }) => {
          began.push(fence)
          return new Promise<void>(resolve => ends.push(resolve))
        })
      }),
    ],
    { leaseMs: LEASE_MS },
  )
  const run = await fixture.begin('reclaimed', 's1')
  await until('the first execution', () => (began.length === 1 ? true : undefined))
  await fixture.pool.query(`update due set fence = fence + 1, lease_until = null, batched_until = null where id = $1`, [run])
  await until('the second execution', () => (began.length === 2 ? true : undefined))
  const [former] = ends
  ends = ends.slice(1)
  former!()
  const { rows } = await fixture.pool.query<{ at: string }>(`select (clock_timestamp() + $1::int * interval '1 ms')::text as at`, [
    LEASE_MS,
  ])
  await until('the lease is renewed past the first one', async () => {
    const { rowCount } = await fixture.pool.query('select 1 from due where id = $1 and lease_until > $2::timestamptz', [run, rows[0]!.at])
    return rowCount || undefined
  })
  for (const end of ends) end()
  expect((await fixture.ended(run)).status).toBe('succeeded')
  expect(began).toHaveLength(2)
})
