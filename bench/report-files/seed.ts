import { createReport } from '../../domain/reports/create.ts'
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
/** From the last seeded event to the first slot. */
const LEAD_MS = 3_600_000

/** Daily reports of all tenants, each to a webhook at `url`. The clocks of their environments stand shortly after the last event, and the first slot has every event. */
export async function seedReports(pool: Pool, tenants: Tenant[], url: string, count: number): Promise<void> {
  const { rows } = await pool.query<{ at: Date }>(`select extract(epoch from max(received_at)) * 1000 as at from events`)
  const last = new Date(Number(rows[0]!.at))
  await pool.query('update environments set clock_offset = $1::timestamptz - clock_timestamp()', [last])
  const send_at = new Date(last.getTime() + LEAD_MS).toISOString().slice(11, 16)
  for (const [n, { environment }] of tenants.entries()) {
    const id = orderedId('int')
    await pool.query(
      `insert into integrations (environment, id, slug, title, target_platform, active, settings, created_at, updated_at)
       values ($1, $2, 'webhooks', 'Sink', 'iOS', 1, $3, now(), now())`,
      [environment, id, JSON.stringify({ url, sandbox_url: url })],
    )
    const own = Math.floor(((n + 1) * count) / tenants.length) - Math.floor((n * count) / tenants.length)
    await transaction(pool, async tx => {
      for (let i = 0; i < own; i++) {
        const input = { ...SCHEDULE, ...FILE, include: [], report_name: `Report ${i}`, send_at }
        await createReport(tx, environment, { input, destinationIds: [id], faults: [] })
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
