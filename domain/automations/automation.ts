import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { completeData } from './complete.ts'
import type { AutomationData } from './data.ts'
import type { AutomationStatus } from './input.ts'

export type Automation = { id: string; name: string; caption: string; status: AutomationStatus; version: number; data: AutomationData }

/** `before` is null when nothing was changed. */
export type AutomationChange = { before: Automation | null; after: Automation }

export const AUTOMATION_COLUMNS = `id, name, caption, status, version,
  (select v.data from automation_versions v
   where v.environment = automations.environment and v.automation_id = automations.id and v.version = automations.version) as data`

/** A row as it is shown: the data with its keys in their order. */
export const automationOf = (row: Automation): Automation => ({ ...row, data: completeData(row.data) })

/**
 * Holds an automation until the transaction ends: no batch of the log is handled meanwhile that it concerns. Two statements, so that
 * the data is that of the version which was locked. Throws `not_found`.
 */
export async function lockAutomation(
  tx: Tx,
  environment: Environment,
  id: string,
  strength: 'update' | 'no key update',
): Promise<Automation> {
  const locked = await tx.query(`select 1 from automations where environment = $1 and id = $2 for ${strength}`, [environment, id])
  if (locked.rowCount === 0) throw notFound('automation')
  const { rows } = await tx.query<Automation>(`select ${AUTOMATION_COLUMNS} from automations where environment = $1 and id = $2`, [
    environment,
    id,
  ])
  return automationOf(rows[0]!)
}
