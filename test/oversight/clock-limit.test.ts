import { afterAll, beforeAll, expect, test } from 'vitest'
import { readClock } from '../../domain/durable/clock/clock.ts'
import { advanceClock } from '../../domain/oversight/reconciliation/advance-clock.ts'
import { startApi, type TestApi } from '../harness/api.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

test('an advance that exceeds its time limit leaves the clock at the job it waits for, and a repeat continues there', async () => {
  const { pool, project } = api
  const environment = project.sandboxEnvironment
  const start = Date.parse((await readClock(pool, environment)).now)
  const at = (hours: number) => new Date(start + hours * 3_600_000).toISOString()
  // No worker executes jobs of this kind.
  await pool.query(`insert into due (kind, id, environment, due_at) values ('nobody', 1, $1, $2)`, [environment, at(1)])
  const advance = () => advanceClock(environment, at(2), { pool, beat: async () => {}, limitMs: 100 })
  await expect(advance()).rejects.toMatchObject({ code: 'upstream_timeout' })
  const stopped = await readClock(pool, environment)
  expect(Math.round((Date.parse(stopped.now) - start) / 3_600_000)).toBe(1)
  expect(stopped.outstanding).toBe(1)
  await pool.query(`delete from due where kind = 'nobody'`)
  await advance()
  const { now, outstanding } = await readClock(pool, environment)
  expect(Math.round((Date.parse(now) - start) / 3_600_000)).toBe(2)
  expect(outstanding).toBe(0)
})
