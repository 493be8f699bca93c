import type { Tx } from '../../../store/connect.ts'
import { lockInOrder, textKeys } from '../../../store/lock-in-order.ts'
import { cancelRuns } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { failExport } from '../exports/finish.ts'
import { cancelDeliveries, subjectsOf } from './delivery-runs.ts'
import { recordSlot } from './record-run.ts'
import type { ReportRow } from './report.ts'
import { CHARTS_WORKFLOW, FILE_WORKFLOW, REPORT_RUN_COLUMNS, REPORT_WORKFLOW, type ReportRunRow } from './run.ts'
import { writeDestinations } from './settle.ts'
import { slotsAfter } from './slots.ts'

type Reason = 'report_deleted' | 'report_paused'

/**
 * Ends a report that has no further slots: its due slots that no worker has taken, and its unfinished runs, end as withheld. When the
 * report is only paused, the runs that a user requested (tests and resends) continue.
 */
export async function endReport(tx: Tx, environment: Environment, report: ReportRow, reason: Reason, at: string): Promise<void> {
  if (report.status === 'active') await withholdDue(tx, environment, report, reason, Date.parse(at))
  const only = reason === 'report_paused' ? `and kind = 'scheduled' and resends = 0` : ''
  const open = await tx.query<Pick<ReportRunRow, 'id' | 'resends' | 'destinations'>>(
    `select id, resends, destinations from report_runs where environment = $1 and report_id = $2 and status <> 'finished' ${only} order by id`,
    [environment, report.id],
  )
  const ids = open.rows.map(({ id }) => id)
  // In the order in which a workflow schedules the next one: a cancelled workflow schedules none.
  for (const { workflow } of [REPORT_WORKFLOW, FILE_WORKFLOW, CHARTS_WORKFLOW]) await cancelRuns(tx, environment, workflow, ids)
  const deliveries = open.rows.flatMap(subjectsOf)
  await cancelDeliveries(tx, environment, deliveries)
  const ended = await tx.query<ReportRunRow>(
    lockInOrder({
      ...{ table: 'report_runs', key: 'id', keys: textKeys('$2'), columns: REPORT_RUN_COLUMNS },
      ...{ where: `environment = $1 and status <> 'finished'`, strength: 'no key update' },
    }),
    [environment, ids],
  )
  for (const run of ended.rows) {
    const destinations = run.destinations.map(d => (d.status === 'pending' ? { ...d, status: 'withheld' as const, reason } : d))
    await writeDestinations(tx, [{ ...run, environment, destinations }])
    await failUnfinishedExport(tx, environment, run)
  }
}

/** Records the due slots that no worker has taken as withheld, or as skipped where the clocks were put forward. */
async function withholdDue(tx: Tx, environment: Environment, report: ReportRow, reason: Reason, at: number): Promise<void> {
  let withheld = 0
  let { last_slot: last, next_from } = report
  for (const slot of slotsAfter(report, Date.parse(report.last_slot!))) {
    if (slot.at > at) break
    const ended = slot.isSkipped ? { outcome: 'skipped' as const, reason: 'dst_gap' } : { outcome: 'withheld' as const, reason }
    const run = await recordSlot(tx, environment, { ...report, next_from }, slot, ended)
    if (run !== null && !slot.isSkipped) withheld++
    if (!slot.isSkipped) next_from = null
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

/** No worker writes the file any more. Retention deletes the parts that are written already. */
async function failUnfinishedExport(tx: Tx, environment: Environment, { export_id }: ReportRunRow): Promise<void> {
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
