// How long rows are kept is for the operator to choose.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../app/config.ts'
import { RETENTION_DAYS, type RetentionDays } from '../../domain/kernel/retention-days.ts'
import { dropExpired } from '../../domain/oversight/reconciliation/retention.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { deliveryRow, integrationRow, runRow, slotRow } from '../harness/job-rows.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi({ retention: { ...RETENTION_DAYS, deliveries: 2 } })
})
afterAll(() => api.stop())

const DAY = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString()
const KINDS = { deliveries: 'deliveries', automationRuns: 'automation_runs', reportRuns: 'report_runs', auditLog: 'audit_log' } as const

/** A sandbox with one row of each kind that ended so many days ago. */
async function filled(days: RetentionDays): Promise<{ key: string; left(): Promise<string[]> }> {
  const { sandbox: key, sandboxEnvironment: environment } = await api.newProject()
  const { pool } = api
  const integration = await integrationRow(pool, environment)
  await deliveryRow(pool, environment, { at: ago(days.deliveries), status: 'delivered', integration })
  await runRow(pool, environment, { at: ago(days.automationRuns), status: 'succeeded' })
  await slotRow(pool, environment, { at: ago(days.reportRuns), status: 'delivered' })
  await pool.query('delete from audit_log where environment = $1', [environment])
  await pool.query(
    `insert into audit_log (project, environment, id, created_at, actor_kind, operation, resource)
     select project, id, 'aud_of_' || id, $2, 'key', 'v4UpdateUser', 'user' from environments where id = $1`,
    [environment, ago(days.auditLog)],
  )
  const left = async () => {
    const counted = await Promise.all(
      Object.entries(KINDS).map(async ([kind, table]) => {
        const { rowCount } = await pool.query(`select 1 from ${table} where environment = $1`, [environment])
        return rowCount === 0 ? [] : [kind]
      }),
    )
    return counted.flat()
  }
  return { key, left }
}

const each = (days: RetentionDays, more: number) =>
  Object.fromEntries(Object.entries(days).map(([kind, n]) => [kind, n + more])) as RetentionDays
const SHORT: RetentionDays = { deliveries: 2, automationRuns: 31, reportRuns: 7, auditLog: 30 }
const LONG: RetentionDays = { deliveries: 60, automationRuns: 200, reportRuns: 800, auditLog: 2_000 }

test.each([
  ['without settings', RETENTION_DAYS],
  ['shorter', SHORT],
  ['longer', LONG],
])('each kind is kept for its own days: %s', async (_, days) => {
  const [younger, older] = [await filled(each(days, -1)), await filled(each(days, 1))]
  await dropExpired(api.pool, { days })
  expect([await younger.left(), await older.left()]).toEqual([Object.keys(KINDS), []])
})

test('an advance of a sandbox removes by the same days', async () => {
  const { key, left } = await filled(each(SHORT, -SHORT.deliveries))
  const advanced = await api.call('POST', '/v4/test-clock/advance', { key, body: { by: 'P3D' } })
  expect(advanced.status, advanced.text).toBe(200)
  expect(await left()).toEqual(['automationRuns', 'reportRuns', 'auditLog'])
})

test('the variables, their defaults and their limits', () => {
  expect(readConfig({}).retention).toEqual(RETENTION_DAYS)
  const env = {
    DELIVERY_RETENTION_DAYS: '2',
    AUTOMATION_RUN_RETENTION_DAYS: '31',
    REPORT_RUN_RETENTION_DAYS: '7',
    AUDIT_RETENTION_DAYS: '30',
  }
  expect(readConfig(env).retention).toEqual(SHORT)
  // The `frequency` of an automation counts the runs of a month.
  expect(() => readConfig({ AUTOMATION_RUN_RETENTION_DAYS: '30' })).toThrow(
    /^AUTOMATION_RUN_RETENTION_DAYS=30: must be a whole number from 31 to 3650$/,
  )
  expect(() => readConfig({ DELIVERY_RETENTION_DAYS: '1' })).toThrow('from 2 to 3650')
})
