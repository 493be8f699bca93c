import { afterAll, beforeAll, expect, test } from 'vitest'
import { dispatchDue } from '../../domain/durable/jobs/sweep.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { idsOfBatches } from '../harness/batches.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

test('the backlog of one project leaves half of the window to others, however often the sweep looks', async () => {
  const [a, b] = [api.project.production, (await api.newProject()).production]
  const insert = (environment: number, from: number, to: number) =>
    api.pool.query(
      `insert into due (kind, id, environment, due_at) select 'job', n, $1, clock_timestamp() from generate_series($2::int, $3::int) n`,
      [environment, from, to],
    )
  const dispatched = async () => idsOfBatches(api.pool, (await dispatchDue(api.pool, ['job'], 600))!.batches)
  await insert(a, 1, 20_000)
  expect(await dispatched()).toHaveLength(300)
  expect(await dispatched()).toEqual([])
  await insert(b, 100_001, 100_100)
  const found = await dispatched()
  expect(found.filter(id => id > 100_000)).toHaveLength(100)
  expect(found).toHaveLength(100)
})
