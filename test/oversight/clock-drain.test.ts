import { afterAll, beforeAll, expect, test } from 'vitest'
import { readClock } from '../../domain/durable/clock/clock.ts'
import { lockConsumer } from '../../domain/durable/log/consumer.ts'
import { advanceClock, drainedSince, finalCounts } from '../../domain/oversight/reconciliation/advance-clock.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { item } from '../harness/events.ts'
import { deliveryRow, exportRow, integrationRow, runRow, slotRow } from '../harness/job-rows.ts'
import { until } from '../harness/until.ts'

// The jobs and log events for which the clock waits. The tests themselves take the role of the workers.
let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const HOUR = 3_600_000
const clock = (environment: number) => readClock(api.pool, environment)
const ahead = async (environment: number, hours: number) =>
  new Date(Date.parse((await clock(environment)).now) + hours * HOUR).toISOString()
const advance = (environment: number, to: string, limitMs = 100) =>
  advanceClock(environment, to, { pool: api.pool, beat: async () => {}, limitMs })

test('the clock does not advance before the log is read', async () => {
  const { sandbox: key, sandboxEnvironment: environment } = await api.newProject()
  await transaction(api.pool, tx => lockConsumer(tx, 'automations', environment))
  await api.call('POST', '/v4/events', { key, body: { events: [item(), item()] } })
  expect((await clock(environment)).outstanding).toBe(2)
  const to = await ahead(environment, 1)
  await expect(advance(environment, to)).rejects.toMatchObject({ code: 'upstream_timeout' })
  expect((await clock(environment)).offset_seconds).toBe(0)
  // A transaction reads the log and inserts a run for it: then the clock must wait for that run.
  const advanced = advance(environment, to, 10_000)
  const { number } = await transaction(api.pool, async tx => {
    const inserted = await runRow(api.pool, environment, {
      at: new Date().toISOString(),
      status: 'pending',
      dueAt: new Date().toISOString(),
    })
    await tx.query(
      `update log_consumers c set next_offset = l.next_offset from log_positions l
       where c.environment = $1 and l.environment = $1 and l.partition = c.partition`,
      [environment],
    )
    return inserted
  })
  await api.pool.query(`update due set lease_until = clock_timestamp() + interval '1 minute' where kind = 'automation-run' and id = $1`, [
    number,
  ])
  expect((await clock(environment)).outstanding).toBe(1)
  expect((await clock(environment)).offset_seconds).toBe(0)
  await api.pool.query(`delete from due where kind = 'automation-run' and id = $1`, [number])
  await advanced
  expect((await clock(environment)).offset_seconds).toBeGreaterThan(3590)
})

test('the clock stops at each retry of a delivery; the ended delivery and rows that retention removes meanwhile count as drained', async () => {
  const { sandboxEnvironment: environment } = await api.newProject()
  const { pool } = api
  const at = await ahead(environment, 0)
  const row = { at, status: 'pending', dueAt: at }
  const delivery = await deliveryRow(pool, environment, { ...row, integration: await integrationRow(pool, environment) })
  await runRow(pool, environment, { at, status: 'succeeded' })
  const before = await finalCounts(pool, environment)
  expect(before).toEqual({ report_slots: 0, automation_runs: 1, deliveries: 0, exports: 0 })
  const advanced = advance(environment, await ahead(environment, 24 * 100), 20_000)
  const start = Date.parse(at)
  for (const hours of [5, 20, 24 * 60]) {
    const next = new Date(start + hours * HOUR).toISOString()
    await pool.query(`update due set due_at = $2, fence = fence + 1 where kind = 'delivery' and id = $1`, [delivery.number, next])
    await until('the clock at the next retry', async () =>
      Date.parse((await clock(environment)).now) >= Date.parse(next) - 1000 ? true : undefined,
    )
    expect(Date.parse((await clock(environment)).now) - Date.parse(next)).toBeLessThan(10_000)
  }
  await pool.query(`update deliveries set status = 'delivered', ended_at = environment_now($2) where number = $1`, [
    delivery.number,
    environment,
  ])
  await slotRow(pool, environment, { at, status: 'skipped', reason: 'missed' })
  await exportRow(pool, environment, { at, status: 'done' })
  await exportRow(pool, environment, { at, status: 'done', reportRun: 'rrn_1' })
  await pool.query(`delete from due where kind = 'delivery'`)
  await advanced
  const left = await pool.query('select 1 from automation_runs where environment = $1', [environment])
  expect(left.rowCount).toBe(0)
  const drained = drainedSince(before, await finalCounts(pool, environment))
  expect(drained).toEqual({ report_slots: 1, automation_runs: 0, deliveries: 1, exports: 1 })
})
