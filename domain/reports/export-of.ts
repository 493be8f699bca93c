import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** The export that makes the file of a run that was started; null when it is not kept any more. */
export async function exportOf(db: Db, environment: Environment, run: string): Promise<{ id: string; isFinished: boolean } | null> {
  const { rows } = await db.query<{ id: string; isFinished: boolean }>({
    name: 'export-of-report-run',
    text: `select x.id, x.status in ('done', 'failed') as "isFinished"
           from report_runs r join exports x on x.environment = r.environment and x.id = r.export_id where r.environment = $1 and r.id = $2`,
    values: [environment, run],
  })
  return rows[0] ?? null
}
