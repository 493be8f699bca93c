import type { Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { createRun } from '../../durable/jobs/workflow-run.ts'
import { type Environment, now } from '../../kernel/environment.ts'
import { OF_CHARTS } from '../exports/export.ts'
import { daysBefore } from './chart-window.ts'
import { lockReport, type ReportRow } from './report.ts'
import { pending, REPORT_RUN_COLUMNS, REPORT_WORKFLOW, type ReportRunRow } from './run.ts'
import { isoOf } from './slot-job.ts'

/** Real time between two tests of one report. */
const SECONDS_BETWEEN = 60

/** `secondsLeft`: until the next test is allowed. */
type Test = { run: ReportRunRow } | { secondsLeft: number }

async function wholeDays(tx: Tx, environment: Environment, { timezone, included_range_days }: ReportRow): Promise<[string, string]> {
  const { from, to } = daysBefore(timezone, included_range_days, Date.parse(await now(tx, environment)))
  return [isoOf(from), isoOf(to)]
}

/** Creates a test run over the last days up to now, of charts over the last whole days, for all destinations of the report. At most one test a minute. */
export async function sendTest(tx: Tx, environment: Environment, id: string): Promise<Test> {
  const report = await lockReport(tx, environment, id)
  // The row is locked. One statement with the time before in it would name the row twice, and is planned worse without statistics.
  const { rows: tested } = await tx.query<{ left: number }>(
    `select coalesce(ceil($3 - extract(epoch from clock_timestamp() - tested_at)), 0)::int as left
     from scheduled_reports where environment = $1 and id = $2`,
    [environment, id, SECONDS_BETWEEN],
  )
  const secondsLeft = tested[0]!.left
  if (secondsLeft > 0) return { secondsLeft: Math.min(secondsLeft, SECONDS_BETWEEN) }
  await tx.query('update scheduled_reports set tested_at = clock_timestamp() where environment = $1 and id = $2', [environment, id])
  const days = report.type === OF_CHARTS ? await wholeDays(tx, environment, report) : [null, null]
  const { rows } = await tx.query<ReportRunRow>(
    `insert into report_runs (environment, id, report_id, kind, window_from, window_to, destinations, created_at)
     select $1, $2, $3, 'test', coalesce($6, t - make_interval(hours => 24 * $4)), coalesce($7, t), $5, t from environment_now($1) t
     returning ${REPORT_RUN_COLUMNS}`,
    [environment, orderedId('rrn'), id, report.included_range_days, JSON.stringify(report.destinations.map(pending)), ...days],
  )
  await createRun(tx, environment, { ...REPORT_WORKFLOW, subject: rows[0]!.id })
  return { run: rows[0]! }
}
