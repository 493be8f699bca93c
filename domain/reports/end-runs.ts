import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { failExport } from '../exports/finish.ts'
import { cancelRuns } from '../jobs/workflow-run.ts'
import { recordSlot } from './record-run.ts'
import type { ReportRow } from './report.ts'
import { DELIVERY_WORKFLOW, deliverySubject, FILE_WORKFLOW, REPORT_WORKFLOW, RUN_COLUMNS, type RunRow } from './run.ts'
import { finish } from './settle.ts'
import { slotsAfter } from './slots.ts'

type Reason = 'report_deleted' | 'report_paused'

/**
 * A report has no further slots: those that are due and were not taken, and the runs under way, end as withheld. What somebody asked
 * for, tests and resends, goes on when the report is only paused.
 */
export async function endReport(tx: Tx, environment: Environment, report: ReportRow, reason: Reason, at: string): Promise<void> {
  if (report.status === 'active') await withholdDue(tx, environment, report, reason, Date.parse(at))
  const which = reason === 'report_paused' ? `and kind = 'scheduled' and resends = 0` : ''
  const open = await tx.query<Pick<RunRow, 'id' | 'destinations'>>(
    `select id, destinations from report_runs where environment = $1 and report_id = $2 and status <> 'finished' ${which} order by id`,
    [environment, report.id],
  )
  const ids = open.rows.map(({ id }) => id)
  // What could still begin another goes first.
  for (const { workflow } of [REPORT_WORKFLOW, FILE_WORKFLOW]) await cancelRuns(tx, environment, workflow, ids)
  const deliveries = open.rows.flatMap(({ id, destinations }) => destinations.map(destination => deliverySubject(id, destination.id)))
  await cancelRuns(tx, environment, DELIVERY_WORKFLOW.workflow, deliveries)
  const ended = await tx.query<RunRow>(
    `select ${RUN_COLUMNS} from report_runs where environment = $1 and id = any ($2) and status <> 'finished' order by id for no key update`,
    [environment, ids],
  )
  for (const run of ended.rows) {
    const destinations = run.destinations.map(d => (d.status === 'pending' ? { ...d, status: 'withheld' as const, reason } : d))
    await finish(tx, environment, { ...run, destinations })
    await giveUpExport(tx, environment, run)
  }
}

async function withholdDue(tx: Tx, environment: Environment, report: ReportRow, reason: Reason, at: number): Promise<void> {
  let withheld = 0
  let last = report.last_slot
  for (const slot of slotsAfter(report, Date.parse(report.last_slot!))) {
    if (slot.at > at) break
    const ended = slot.isSkipped ? { outcome: 'skipped' as const, reason: 'dst_gap' } : { outcome: 'withheld' as const, reason }
    const run = await recordSlot(tx, environment, report, slot, ended)
    if (run !== null && !slot.isSkipped) withheld++
    last = new Date(slot.at).toISOString()
  }
  if (last !== report.last_slot)
    await tx.query('update scheduled_reports set runs = runs + $3, last_slot = $4 where environment = $1 and id = $2', [
      environment,
      report.id,
      withheld,
      last,
    ])
}

/** Nobody makes the file any more; what is there of it is removed in time. */
async function giveUpExport(tx: Tx, environment: Environment, { export_id }: RunRow): Promise<void> {
  const { rowCount } = await tx.query(
    `select 1 from exports where environment = $1 and id = $2 and status in ('new', 'processing') for no key update`,
    [environment, export_id],
  )
  if (rowCount === 1)
    await failExport(tx, environment, export_id!, {
      code: 'unknown_error',
      message: 'the report was deleted or paused before the file was made',
    })
}
