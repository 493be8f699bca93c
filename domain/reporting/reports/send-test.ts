import type { Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { createRun } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { lockReport } from './report.ts'
import { pending, REPORT_RUN_COLUMNS, REPORT_WORKFLOW, type ReportRunRow } from './run.ts'

/** Real time between two tests of one report. */
const SECONDS_BETWEEN = 60

/** `secondsLeft`: until the next test is allowed. */
type Test = { run: ReportRunRow } | { secondsLeft: number }

/** Creates a test run over the last days up to now, for all destinations of the report. At most one test a minute. */
export async function sendTest(tx: Tx, environment: Environment, id: string): Promise<Test> {
  const report = await lockReport(tx, environment, id)
  const tested = await tx.query<{ left: number }>(
    `update scheduled_reports r set tested_at = case when l.seconds > 0 then r.tested_at else clock_timestamp() end
     from (select id, coalesce(ceil($3 - extract(epoch from clock_timestamp() - tested_at)), 0)::int as seconds
           from scheduled_reports where environment = $1 and id = $2) l
     where r.environment = $1 and r.id = l.id returning l.seconds as left`,
    [environment, id, SECONDS_BETWEEN],
  )
  const secondsLeft = tested.rows[0]!.left
  if (secondsLeft > 0) return { secondsLeft: Math.min(secondsLeft, SECONDS_BETWEEN) }
  const { rows } = await tx.query<ReportRunRow>(
    `insert into report_runs (environment, id, report_id, kind, window_from, window_to, destinations, created_at)
     select $1, $2, $3, 'test', t - make_interval(hours => 24 * $4), t, $5, t from environment_now($1) t returning ${REPORT_RUN_COLUMNS}`,
    [environment, orderedId('rrn'), id, report.included_range_days, JSON.stringify(report.destinations.map(pending))],
  )
  await createRun(tx, environment, { ...REPORT_WORKFLOW, subject: rows[0]!.id })
  return { run: rows[0]! }
}
