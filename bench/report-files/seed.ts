import { createReport } from '../../domain/reporting/reports/create.ts'
import type { ReportInput } from '../../domain/reporting/reports/report.ts'
import type { Pool } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import { transaction } from '../../store/transaction.ts'
import type { Tenant } from '../product.ts'

const SCHEDULE = {
  timezone: 'UTC',
  cadence: 'daily',
  weekday: null,
  day_of_month: null,
  on_dst_gap: 'shift',
  on_dst_overlap: 'first',
} as const
const FILE = { type: 'events', format: 'csv', included_range_days: 7, status: 'active', missed: 'once' } as const
/** So far ahead of now that no slot is due before the worker is up. */
const LEAD_MS = 3_600_000

/** An integration that gets the files. */
export type Target = { slug: string; settings: object }

/** Daily reports of all tenants, each to an integration of its tenant. `what`: other than events. */
export async function seedReports(
  pool: Pool,
  tenants: Tenant[],
  { slug, settings }: Target,
  count: number,
  what: Partial<ReportInput> = {},
): Promise<void> {
  const send_at = new Date(Date.now() + LEAD_MS).toISOString().slice(11, 16)
  for (const [n, { environment }] of tenants.entries()) {
    const id = orderedId('int')
    await pool.query(
      `insert into integrations (environment, id, slug, title, target_platform, active, settings, created_at, updated_at)
       values ($1, $2, $4, 'Sink', 'iOS', 1, $3, now(), now())`,
      [environment, id, JSON.stringify(settings), slug],
    )
    const own = Math.floor(((n + 1) * count) / tenants.length) - Math.floor((n * count) / tenants.length)
    await transaction(pool, async tx => {
      for (let i = 0; i < own; i++) {
        const input = { ...SCHEDULE, ...FILE, include: [], charts: [], view_id: null, ...what, report_name: `Report ${i}`, send_at }
        await createReport(tx, environment, { input, destinationIds: [id], own: 1, faults: [] })
      }
    })
  }
}

/** Sets the clocks of all environments so that the next slots, which are at the same time in all, are so many seconds ahead. */
export const slotsAhead = (pool: Pool, seconds: number): Promise<unknown> =>
  pool.query(
    `update environments set clock_offset = s.slot - clock_timestamp() - make_interval(secs => $1)
     from (select min(next_slot) as slot from scheduled_reports) s`,
    [seconds],
  )
