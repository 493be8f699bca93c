import type { Tx } from '../../../store/connect.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import { type Environment, now } from '../../kernel/environment.ts'
import { REPORT_COLUMNS, REPORT_SLOT_DUE, type ReportRow } from './report.ts'
import { firstPosition } from './schedule-change.ts'

/** Lets every report of an environment begin as if it had become active now, and forgets the deleted ones: their runs are gone. */
export async function beginReportsAnew(tx: Tx, environment: Environment): Promise<void> {
  await tx.query('delete from scheduled_reports where environment = $1 and deleted_at is not null', [environment])
  await tx.query('update scheduled_reports set runs = 0, last_slot = null where environment = $1', [environment])
  const { rows: reports } = await tx.query<ReportRow>(
    `select ${REPORT_COLUMNS} from scheduled_reports where environment = $1 and status = 'active' order by number for no key update`,
    [environment],
  )
  const at = await now(tx, environment)
  await tx.query(
    `with moved as (
       update scheduled_reports r set next_slot = m.next_slot, last_slot = m.last_slot, next_from = m.next_from
       from jsonb_to_recordset($2) m(number bigint, next_slot timestamptz, last_slot timestamptz, next_from timestamptz)
       where r.number = m.number returning r.number, r.next_slot
     )
     ${insertJobs({
       kind: REPORT_SLOT_DUE,
       id: 'number',
       environment: '$1',
       dueAt: 'next_slot',
       from: 'moved order by number',
       ifExists: 'reschedule',
     })}`,
    [environment, JSON.stringify(reports.map(report => ({ number: report.number, ...firstPosition(report, at) })))],
  )
  announceJobs(tx, REPORT_SLOT_DUE)
}
