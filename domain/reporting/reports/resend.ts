import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict, invalidFields, notFound } from '../../kernel/refusal.ts'
import { createDeliveries } from './delivery-runs.ts'
import { lockReportRun, pending, REPORT_RUN_COLUMNS, type ReportRunRow } from './run.ts'

type RunChange = { before: ReportRunRow; after: ReportRunRow }

/**
 * Delivers the stored file of a finished run again, to all of its destinations or to the given ones. The run is running again until each of
 * these deliveries has ended; their attempts are counted from the beginning.
 */
export async function resendRun(tx: Tx, environment: Environment, id: string, destinationIds: string[] | undefined): Promise<RunChange> {
  // The report is locked before the run, in the order in which a deletion of the report locks them.
  const report = await tx.query<{ is_deleted: boolean }>(
    `select p.deleted_at is not null as is_deleted from report_runs r
     join scheduled_reports p on p.environment = r.environment and p.id = r.report_id
     where r.environment = $1 and r.id = $2 for no key update of p`,
    [environment, id],
  )
  const run = report.rows[0] && (await lockReportRun(tx, environment, id))
  if (!run) throw notFound('run')
  const own = run.destinations.map(destination => destination.id)
  const resent = new Set(destinationIds ?? own)
  const foreign = (destinationIds ?? []).flatMap((name, i) => (own.includes(name) ? [] : [i]))
  if (foreign.length > 0)
    throw invalidFields(foreign.map(i => ({ field: `destination_ids[${i}]`, message: 'must be a destination of the run' })))
  const refusal = report.rows[0]!.is_deleted ? 'the report is deleted' : await refusalOf(tx, environment, run)
  if (refusal !== null) throw conflict(refusal)
  const destinations = run.destinations.map(destination => (resent.has(destination.id) ? pending(destination) : destination))
  const { rows } = await tx.query<ReportRunRow>(
    `update report_runs set status = 'running', outcome = null, reason = null, finished_at = null, resends = resends + 1, destinations = $3
     where environment = $1 and id = $2 returning ${REPORT_RUN_COLUMNS}`,
    [environment, id, JSON.stringify(destinations)],
  )
  await createDeliveries(tx, [{ ...rows[0]!, environment, to: [...resent] }])
  return { before: run, after: rows[0]! }
}

/** Why the run cannot be sent again; null: it can. */
async function refusalOf(tx: Tx, environment: Environment, run: ReportRunRow): Promise<string | null> {
  if (run.status !== 'finished') return 'the run is not finished'
  if (run.outcome === 'skipped') return 'the slot was skipped'
  const { rows } = await tx.query<{ status: string; is_expired: boolean }>(
    `select status, coalesce(expires_at <= environment_now($1), true) as is_expired from exports where environment = $1 and id = $2`,
    [environment, run.export_id],
  )
  const file = rows[0]
  if (run.export_id === null || (file && file.status !== 'done')) return 'the run has no file'
  return !file || file.is_expired ? 'the file has expired' : null
}
