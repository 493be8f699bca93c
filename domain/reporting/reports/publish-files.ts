import type { Db, Tx } from '../../../store/connect.ts'
import { type ClaimedJob, lockFences } from '../../durable/jobs/job.ts'
import { finishRuns, NOTHING_RECORDED } from '../../durable/jobs/record.ts'
import { jobKindOf } from '../../durable/jobs/workflow-run.ts'
import { type PublishedFile, publishExports } from '../exports/finish.ts'
import type { ExportSource } from '../exports/parts.ts'
import { createDeliveries } from './delivery-runs.ts'
import { FILE_WORKFLOW, lockReportRuns, outcomeOf, type RunKey } from './run.ts'
import { writeDestinations } from './settle.ts'

/** Schedules the deliveries of runs whose files are written. */
export async function scheduleReportDeliveries(tx: Tx, keys: readonly RunKey[]): Promise<void> {
  const open = (await lockReportRuns(tx, keys)).filter(({ status }) => status !== 'finished')
  const { rows: written } = await tx.query<RunKey & { rows: number }>({
    name: 'record-rows-of-report-runs',
    text: `update report_runs r set rows = x.rows_written
           from unnest($1::int[], $2::text[], $3::text[]) k(environment, id, file)
             cross join lateral (select rows_written from exports where environment = k.environment and id = k.file limit 1) x
           where r.environment = k.environment and r.id = k.id returning r.environment, r.id, r.rows`,
    values: [open.map(({ environment }) => environment), open.map(({ id }) => id), open.map(run => run.export_id)],
  })
  const rowsOf = new Map(written.map(({ environment, id, rows }) => [`${environment} ${id}`, rows]))
  await createDeliveries(
    tx,
    open.map(run => ({ ...run, to: run.destinations.filter(({ status }) => status === 'pending').map(({ id }) => id) })),
  )
  const withRows = open.map(run => ({ ...run, rows: rowsOf.get(`${run.environment} ${run.id}`) ?? null }))
  // Where no destination is pending any more, the run ends.
  await writeDestinations(
    tx,
    withRows.filter(({ destinations, rows }) => outcomeOf(destinations, rows) !== null),
  )
}

type Claimed = Pick<ClaimedJob, 'id' | 'fence'>
const KIND = jobKindOf(FILE_WORKFLOW)

/** The file of a report's run that no worker has begun, and the data from which it is made. `isStale`: users of the environment are marked. */
export type NewReportFile = { run: string; file: string; isStale: boolean; source: ExportSource }

type Row = Omit<ExportSource, 'platforms' | 'updatedFrom' | 'membersOf'> & { number: number; run: string; file: string; isStale: boolean }

/** The files that the runs of these claims must write. Null: the file is begun or deleted. */
export async function loadNewFiles(db: Db, claimed: readonly Claimed[]): Promise<(NewReportFile | null)[]> {
  const { rows } = await db.query<Row>({
    name: 'load-new-report-files',
    text: `select w.id as number, r.id as run, x.*,
             (select 1 from stale_users s where s.environment = w.environment limit 1) is not null as "isStale"
           from unnest($1::bigint[]) c(id)
             cross join lateral (select id, environment, subject from runs where id = c.id and ${NOTHING_RECORDED} limit 1) w
             cross join lateral (select id, export_id from report_runs where environment = w.environment and id = w.subject limit 1) r
             cross join lateral (
               select id as file, environment, type, format, compression, formula_guard as "formulaGuard", include, window_from::text as "windowFrom",
                 window_to::text as "windowTo", from_offsets as "fromOffsets", to_offsets as "toOffsets"
               from exports where environment = w.environment and id = r.export_id and status = 'new' limit 1) x`,
    values: [claimed.map(({ id }) => id)],
  })
  const byNumber = new Map(
    rows.map(({ number, run, file, isStale, ...source }) => [number, { run, file, isStale, source: { ...source, platforms: '' } }]),
  )
  return claimed.map(({ id }) => byNumber.get(id) ?? null)
}

/** A file that is written, and the claim of the run that has written it. */
export type WrittenFile = PublishedFile & { claimed: Claimed; run: string }

/**
 * Publishes files, schedules their deliveries and ends the runs that have written them. Gives for each whether its run still belonged to this
 * worker: of the others nothing is written.
 */
export async function publishFiles(tx: Tx, written: readonly WrittenFile[]): Promise<boolean[]> {
  const held = await lockFences(
    tx,
    KIND,
    written.map(({ claimed }) => claimed),
  )
  const own = written.filter(({ claimed }) => held.has(claimed.id))
  if (own.length > 0) {
    await publishExports(tx, own)
    await scheduleReportDeliveries(
      tx,
      own.map(({ environment, run }) => ({ environment, id: run })),
    )
    await finishRuns(
      tx,
      KIND,
      own.map(({ claimed }) => claimed),
    )
  }
  return written.map(({ claimed }) => held.has(claimed.id))
}
