import type { Tx } from '../../../store/connect.ts'
import { recreateRun, unfinishedRunExists } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { recreateDeliveries, subjectsOf, unfinishedDeliveryExists } from './delivery-runs.ts'
import {
  CHARTS_WORKFLOW,
  EXPORT_FAILED,
  exportOf,
  FILE_WORKFLOW,
  fileWorkflowOf,
  REPORT_RUN_COLUMNS,
  REPORT_WORKFLOW,
  type ReportRunRow,
} from './run.ts'
import { settleAllDestinations, writeDestinations } from './settle.ts'

const HAS_PENDING = `jsonb_path_exists(s.destinations, '$[*] ? (@.status == "pending")')`
const LACKS_DELIVERY = `exists (select 1 from jsonb_array_elements(s.destinations) d
  where d ->> 'status' = 'pending' and not ${unfinishedDeliveryExists('s.environment', `s.id || ':' || (d ->> 'id') || ':' || s.resends`)})`

/** In SQL: whether no job will ever continue the unfinished report run `s`, or the delivery to one of its destinations. */
export const IS_ORPHANED_REPORT_RUN = `case s.status when 'pending' then not ${unfinishedRunExists(REPORT_WORKFLOW, 's.environment', 's.id')}
  else not ${unfinishedRunExists(FILE_WORKFLOW, 's.environment', 's.id')}
    and not ${unfinishedRunExists(CHARTS_WORKFLOW, 's.environment', 's.id')} and (${LACKS_DELIVERY} or not ${HAS_PENDING}) end`

type LockedRun = ReportRunRow & { environment: Environment }

/** Schedules the missing jobs of the runs: their start, their file, or the deliveries without a job. Returns how many runs were repaired. */
export async function repairReportRuns(tx: Tx, ids: string[]): Promise<number> {
  const locked = await tx.query<LockedRun>(
    `select environment, ${REPORT_RUN_COLUMNS} from report_runs where status <> 'finished' and id = any ($1) order by environment, id for no key update`,
    [ids],
  )
  // Checked again under the lock: every transaction that continues or ends a run locks it.
  const orphaned = await tx.query<{ id: string }>(
    `select id from report_runs s where s.status <> 'finished' and id = any ($1) and ${IS_ORPHANED_REPORT_RUN}`,
    [locked.rows.map(({ id }) => id)],
  )
  const orphans = new Set(orphaned.rows.map(({ id }) => id))
  for (const run of locked.rows) if (orphans.has(run.id)) await repair(tx, run)
  return orphans.size
}

async function repair(tx: Tx, run: LockedRun): Promise<void> {
  const { environment, id } = run
  if (run.status === 'pending') {
    await recreateRun(tx, environment, { ...REPORT_WORKFLOW, subject: id })
    return
  }
  const file = await exportOf(tx, environment, id)
  // A run with a number of rows has had its file; the file may be deleted by now.
  if (run.rows === null && !file?.isFinished) {
    await recreateRun(tx, environment, { ...fileWorkflowOf(file?.type ?? 'events'), subject: id })
    return
  }
  const { rows } = await tx.query<{ status: string; rows_written: number }>(
    'select status, rows_written from exports where environment = $1 and id = $2',
    [environment, run.export_id],
  )
  if (run.rows === null && rows[0]?.status === 'failed') {
    await settleAllDestinations(tx, environment, id, 'failed', EXPORT_FAILED)
    return
  }
  const written = run.rows ?? rows[0]?.rows_written ?? null
  await tx.query('update report_runs set rows = $3 where environment = $1 and id = $2', [environment, id, written])
  const missing = await tx.query<{ subject: string }>(
    `select k.subject from unnest($2::text[]) k(subject) where not ${unfinishedDeliveryExists('$1', 'k.subject')}`,
    [environment, subjectsOf({ ...run, destinations: run.destinations.filter(({ status }) => status === 'pending') })],
  )
  await recreateDeliveries(
    tx,
    environment,
    missing.rows.map(({ subject }) => subject),
  )
  // Also ends the run if no destination is pending.
  await writeDestinations(tx, [{ ...run, environment, rows: written }])
}
