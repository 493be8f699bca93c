import type { Db } from '../../../store/connect.ts'

/** A failed run is counted for a day: long enough to be seen, and nobody has to confirm it. */
const COUNTED = `interval '24 hours'`
const MOST_COUNTED = 10_000

/**
 * Runs of reports of production that have failed within a day, after all attempts, and whose file was not sent again since; of all projects, up
 * to 10,000. The clock of production is real time.
 */
export async function countFailedRuns(db: Db): Promise<number> {
  const { rows } = await db.query<{ failed: number }>({
    name: 'count-failed-report-runs',
    text: `select count(*)::int as failed from (
             select 1 from report_runs r join environments e on e.id = r.environment and e.kind = 'production'
               join scheduled_reports p on p.environment = r.environment and p.id = r.report_id and p.deleted_at is null
             where r.kind = 'scheduled' and r.outcome = 'failed' and r.finished_at > now() - ${COUNTED} limit ${MOST_COUNTED}) f`,
  })
  return rows[0]!.failed
}
