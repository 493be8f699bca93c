import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi, type TestApi } from '../../harness/api.ts'
import { slotRow } from '../../harness/job-rows.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const ready = async () => (await api.call('GET', '/readyz')).body
const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
const report = async (environment: number): Promise<string> => {
  const { rows } = await api.pool.query(
    `insert into scheduled_reports (environment, id, report_name, send_at, included_range_days, status, destinations, timezone, cadence, missed,
       on_dst_gap, on_dst_overlap, format, created_at, updated_at)
     values ($1, 'rep_' || gen_random_uuid(), 'r', '09:00', 1, 'active', '[]', 'UTC', 'daily', 'once', 'shift', 'first', 'csv', now(), now())
     returning id`,
    [environment],
  )
  return rows[0].id
}

test('a report that has failed in production degrades readiness for a day, or until its file is sent again', async () => {
  const { production, sandboxEnvironment } = api.project
  const [id, played, deleted] = [await report(production), await report(sandboxEnvironment), await report(production)]
  await slotRow(api.pool, production, { report: id, at: ago(25), status: 'failed', reason: 'destination_failed' })
  await slotRow(api.pool, production, { report: id, at: ago(2), status: 'delivered' })
  await slotRow(api.pool, sandboxEnvironment, { report: played, at: ago(1), status: 'failed', reason: 'destination_failed' })
  await slotRow(api.pool, production, { report: deleted, at: ago(1), status: 'failed', reason: 'export_failed' })
  await api.pool.query('update scheduled_reports set deleted_at = now() where id = $1', [deleted])
  expect(await ready()).toMatchObject({ status: 'ok', failed_report_runs: 0 })

  const run = await slotRow(api.pool, production, { report: id, at: ago(1), status: 'failed', reason: 'destination_failed' })
  expect(await ready()).toMatchObject({ status: 'degraded', failed_report_runs: 1 })
  expect((await api.call('GET', '/metrics')).text).toMatch(/^perennial_failed_report_runs 1$/m)

  await api.pool.query(`update report_runs set outcome = 'delivered', reason = null, resends = 1 where id = $1`, [run])
  expect(await ready()).toMatchObject({ status: 'ok', failed_report_runs: 0 })
})
