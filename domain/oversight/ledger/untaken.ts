import { type Schedule, slotsAfter } from '../../reporting/reports/slots.ts'

/** The schedule of an active report, and the first of its slots that no worker has taken. */
export type UntakenSlots = Schedule & { id: string; name: string; next_slot: string }

/** In SQL: these reports, of the environment $1, the kinds $4 and slots before $3 and the time $5. */
export const UNTAKEN = `(select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', report_name, 'next_slot', next_slot::text, 'send_at', send_at,
        'timezone', timezone, 'cadence', cadence, 'weekday', weekday, 'day_of_month', day_of_month, 'on_dst_gap', on_dst_gap,
        'on_dst_overlap', on_dst_overlap)), '[]')
      from scheduled_reports
      where 'report_slots' = any ($4::text[]) and environment = $1 and status = 'active' and deleted_at is null
        and next_slot < $3 and next_slot <= $5)`

/** The instants (ms) of a report's untaken slots that have passed, in [from, to). */
export function untakenSlots(report: UntakenSlots, window: { from: string; to: string; now: string }): number[] {
  const from = Date.parse(window.from)
  const end = Math.min(Date.parse(window.to), Date.parse(window.now) + 1)
  const slots: number[] = []
  for (const { at } of slotsAfter(report, Date.parse(report.next_slot) - 1)) {
    if (at >= end) return slots
    if (at >= from) slots.push(at)
  }
  return slots
}
