import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { EXPORT_WORKFLOW } from '../exports/create.ts'

/** How many things of each kind of the ledger have reached a final state so far. */
export async function finalCounts(db: Db, environment: Environment): Promise<{ exports: number }> {
  const { rows } = await db.query<{ exports: number }>(
    'select count(*)::int as exports from runs where environment = $1 and workflow = $2 and finished_at is not null',
    [environment, EXPORT_WORKFLOW.workflow],
  )
  return rows[0]!
}
