import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { notFound } from '../refusal.ts'
import { AUTOMATION_COLUMNS, type Automation, automationOf } from './automation.ts'

export async function getAutomation(db: Db, environment: Environment, id: string): Promise<Automation> {
  const { rows } = await db.query<Automation>(`select ${AUTOMATION_COLUMNS} from automations where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  if (!rows[0]) throw notFound('automation')
  return automationOf(rows[0])
}

const LISTED = { table: 'automations', columns: AUTOMATION_COLUMNS, order: 'newest' as const }

/** Newest first, after the row that the cursor names; one row more than `limit` when there are more. */
export async function listAutomations(
  db: Db,
  environment: Environment,
  limit: number,
  after: string | undefined,
): Promise<Page<Automation>> {
  const { rows, restarted } = await pageOf<Automation>(db, LISTED, environment, { limit, after })
  return { rows: rows.map(automationOf), restarted }
}
