import type { Tx } from '../../../store/connect.ts'
import { createRun, createRunsOf, type NewRun } from '../../durable/jobs/workflow-run.ts'
import { addToLedgerHistory } from '../../durable/ledger-history/history.ts'
import type { Environment } from '../../kernel/environment.ts'
import { EXPORT_WORKFLOW } from './create.ts'
import { EXPORT_REASON, type ExportFailure, FILE_DAYS, type Part } from './export.ts'
import { deleteMembers } from './members.ts'

const RECORD_DAYS = 90
const DAY_SECONDS = 86_400
export const RETENTION_WORKFLOW = { workflow: 'export-retention', version: 1 } as const
/** A worker that still writes a part has lost its claim, and notices that within its lease. */
export const AFTER_WRITER_SECONDS = 60

type FinishedFile = { parts: Part[]; bytes: number; sha256: string }
export type PublishedFile = FinishedFile & { environment: Environment; id: string }

const scheduleRetention = (tx: Tx, environment: Environment, id: string) =>
  createRun(tx, environment, { ...RETENTION_WORKFLOW, subject: id, afterSeconds: FILE_DAYS * DAY_SECONDS })

/** Makes the file visible and schedules its deletion, in one transaction. */
export async function publishExport(tx: Tx, environment: Environment, id: string, file: FinishedFile): Promise<void> {
  await publishExports(tx, [{ ...file, environment, id }])
  await deleteMembers(tx, environment, id)
}

/** The same for files of whatever environments, none of which has recorded members. */
export async function publishExports(tx: Tx, files: readonly PublishedFile[]): Promise<void> {
  await tx.query({
    name: 'publish-exports',
    text: `update exports x set status = 'done', parts = f.parts, bytes = f.bytes, sha256 = f.sha256, rows_written = f.rows,
             expires_at = f.now + make_interval(days => $7)
           from (select u.*, clock_timestamp() + e.clock_offset as now
                 from unnest($1::int[], $2::text[], $3::jsonb[], $4::bigint[], $5::text[], $6::bigint[]) u(environment, id, parts, bytes, sha256, rows)
                   cross join lateral (select clock_offset from environments where id = u.environment limit 1) e) f
           where x.environment = f.environment and x.id = f.id`,
    values: [
      files.map(({ environment }) => environment),
      files.map(({ id }) => id),
      files.map(({ parts }) => JSON.stringify(parts)),
      files.map(({ bytes }) => bytes),
      files.map(({ sha256 }) => sha256),
      files.map(({ parts }) => parts.reduce((sum, part) => sum + part.rows, 0)),
      FILE_DAYS,
    ],
  })
  await createRunsOf(
    tx,
    { ...RETENTION_WORKFLOW, afterSeconds: FILE_DAYS * DAY_SECONDS },
    files.map(({ environment, id }) => ({ environment, subject: id })),
  )
}

export async function failExport(tx: Tx, environment: Environment, id: string, error: ExportFailure): Promise<void> {
  await tx.query(`update exports set status = 'failed', error = $3, failed_at = environment_now($1) where environment = $1 and id = $2`, [
    environment,
    id,
    JSON.stringify(error),
  ])
  await deleteMembers(tx, environment, id)
  await scheduleRetention(tx, environment, id)
}

/**
 * Records that the storage has no file of the export any more. Returns the seconds until its record is deleted, counted from the first such
 * record: a run that replaces a failed one does not restart the time.
 */
export async function recordFileRemoved(tx: Tx, environment: Environment, id: string): Promise<number> {
  const { rows } = await tx.query<{ seconds: number }>(
    `update exports x set file_removed_at = coalesce(x.file_removed_at, t.now), overdue_since = null, to_erase = '{}'
     from environment_now($1) t(now)
     where x.environment = $1 and x.id = $2
     returning greatest(0, extract(epoch from x.file_removed_at - t.now) + case when x.status = 'cancelled' then $4::int else $3::int end)::float8 as seconds`,
    [environment, id, (RECORD_DAYS - FILE_DAYS) * DAY_SECONDS, RECORD_DAYS * DAY_SECONDS],
  )
  // Pictures are drawn from them, as long as their file can be downloaded.
  await tx.query(
    `update report_runs set figures = null where environment = $1 and figures is not null
       and id = (select report_run from exports where environment = $1 and id = $2)`,
    [environment, id],
  )
  return rows[0]?.seconds ?? 0
}

/** The overdue file has been removed. */
export const recordRemoved = (tx: Tx, environment: Environment, id: string): Promise<unknown> =>
  tx.query('update exports set overdue_since = null where environment = $1 and id = $2 and overdue_since is not null', [environment, id])

/**
 * The pause until the attempts to remove a file, or the rows of a user, begin again: they repeat without end, because a caller relies on
 * the removal.
 */
const AFTER_FAILURE_SECONDS = 3_600

/**
 * All attempts to remove something from the storage have failed: the export counts as overdue, and the same work begins again an hour later.
 * Part of the transaction that ends the run.
 */
export async function removeLater(tx: Tx, environment: Environment, id: string, run: Omit<NewRun, 'afterSeconds'>): Promise<void> {
  await tx.query('update exports set overdue_since = coalesce(overdue_since, clock_timestamp()) where environment = $1 and id = $2', [
    environment,
    id,
  ])
  await createRun(tx, environment, { ...run, afterSeconds: AFTER_FAILURE_SECONDS })
}

// The ledger counts a report's slot by its run, and not by the export of its file.
const DELETE_RECORD = `
with deleted as (
  delete from exports where environment = $1 and id = $2 returning environment, status, ${EXPORT_REASON} as reason, created_at, report_run
), counted as (
  select * from deleted where report_run is null
)
${addToLedgerHistory({ kind: 'exports', from: 'counted', due: 'created_at', outcome: 'status', reason: 'reason' })}`

/**
 * Deletes the record of an export, which the ledger still counts, and its run with the steps: an erasure finds the edges of parts by their
 * export.
 */
export async function deleteExport(tx: Tx, environment: Environment, id: string): Promise<void> {
  await tx.query('delete from runs where environment = $1 and subject = $2 and workflow = $3 and finished_at is not null', [
    environment,
    id,
    EXPORT_WORKFLOW.workflow,
  ])
  await tx.query(DELETE_RECORD, [environment, id])
}
