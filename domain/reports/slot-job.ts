import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { deleteJob } from '../jobs/job.ts'
import { insertJobs, notifyWorkers } from '../jobs/sql.ts'
import { REPORT_SLOT } from './report.ts'

/** Times of slots as Postgres takes them. */
export const isoOf = (ms: number): string => new Date(ms).toISOString()

/** The report's next slot falls due then, and is announced at once when that has passed; null: there is none. */
export async function scheduleSlot(tx: Tx, environment: Environment, number: number, at: number | null): Promise<void> {
  if (at === null) {
    await deleteJob(tx, REPORT_SLOT, number)
    return
  }
  await tx.query({
    name: 'schedule-slot',
    text: `with job as (
             ${insertJobs({ kind: REPORT_SLOT, id: '$1', environment: '$2', dueAt: '$3::timestamptz', ifExists: 'reschedule' })} returning due_at
           )
           select ${notifyWorkers(REPORT_SLOT)} from job where due_at <= environment_now($2)`,
    values: [number, environment, isoOf(at)],
  })
}

/** Reports whose slot `last` was taken for a run go on to `next`. */
export async function moveSlots(tx: Tx, environment: Environment, moves: { number: number; last: string; next: string }[]): Promise<void> {
  await tx.query({
    name: 'move-slots',
    text: `with moved as (
             update scheduled_reports r set next_slot = m.next, last_slot = m.last, runs = runs + 1
             from jsonb_to_recordset($2) m(number bigint, last timestamptz, next timestamptz) where r.number = m.number
             returning r.number, r.next_slot
           ), jobs as (
             ${insertJobs({
               kind: REPORT_SLOT,
               id: 'number',
               environment: '$1',
               dueAt: 'next_slot',
               from: 'moved order by number',
               ifExists: 'reschedule',
             })} returning due_at
           )
           select ${notifyWorkers(REPORT_SLOT)} where exists (select 1 from jobs where due_at <= environment_now($1))`,
    values: [environment, JSON.stringify(moves)],
  })
}
