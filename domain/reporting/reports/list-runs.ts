import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'
import { REPORT_RUN_COLUMNS, type ReportRunOutcome, type ReportRunRow } from './run.ts'

type ListOptions = { limit: number; after: string | undefined; outcomes: ReportRunOutcome[]; run: string | undefined }

/**
 * A report's runs, newest first; one row more than `limit`. `restarted`: the cursor names no run of the report. Throws `not_found` without
 * the report.
 */
export async function listReportRuns(
  db: Db,
  environment: Environment,
  report: string,
  { limit, after, outcomes, run }: ListOptions,
): Promise<{ rows: ReportRunRow[]; restarted: boolean }> {
  const cursor = await db.query<{ at: string | null }>({
    name: 'report-runs-cursor',
    text: `select c.created_at::text as at from scheduled_reports r
           left join report_runs c on c.environment = r.environment and c.id = $3 and c.report_id = r.id
           where r.environment = $1 and r.id = $2 and r.deleted_at is null`,
    values: [environment, report, after ?? null],
  })
  const from = cursor.rows[0]
  if (!from) throw notFound('report')
  const { rows } = await db.query<ReportRunRow>({
    name: 'list-report-runs',
    text: `select ${REPORT_RUN_COLUMNS} from report_runs
           where environment = $1 and report_id = $2 and ($3::timestamptz is null or (created_at, id) < ($3, $4))
             and (cardinality($5::text[]) = 0 or outcome = any ($5))
             and ($7::text is null or id = $7)
           order by created_at desc, id desc limit $6`,
    values: [environment, report, from.at, after ?? null, outcomes, limit + 1, run ?? null],
  })
  return { rows, restarted: after !== undefined && from.at === null }
}
