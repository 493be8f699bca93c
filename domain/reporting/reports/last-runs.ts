import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { ReportRunRow } from './run.ts'

export type LastRun = { slot: string } & Pick<ReportRunRow, 'id' | 'status' | 'outcome' | 'reason' | 'rows' | 'finished_at'>

/**
 * What became of the last slot of each of these reports that was taken. One probe for each of the index that has the slots of a report: in the order
 * of slots alone a plan without statistics takes the index of all slots of the environment.
 */
export async function lastRuns(db: Db, environment: Environment, reports: string[]): Promise<Map<string, LastRun>> {
  const { rows } = await db.query<LastRun & { report_id: string }>({
    name: 'last-report-runs',
    text: `select k.id as report_id, l.* from unnest($2::text[]) k(id) cross join lateral (
             select id, slot, status, outcome, reason, rows, finished_at from report_runs
             where environment = $1 and report_id >= k.id and report_id <= k.id and kind = 'scheduled' order by report_id desc, slot desc limit 1) l`,
    values: [environment, reports],
  })
  return new Map(rows.map(({ report_id, ...run }) => [report_id, run]))
}
