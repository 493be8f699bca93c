import type { Pool } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'

/** Inserts an automation with one version; returns its id. */
export async function storedAutomation(pool: Pool, environment: number, status: string, data: object): Promise<string> {
  const id = orderedId('auto')
  await pool.query(
    `with made as (insert into automations (environment, id, name, caption, status, version, created_at, updated_at)
       values ($1, $2, 'Stored', '', $3, 1, '2026-01-01', '2026-01-01'))
     insert into automation_versions (environment, automation_id, version, data) values ($1, $2, 1, $4)`,
    [environment, id, status, JSON.stringify(data)],
  )
  return id
}
