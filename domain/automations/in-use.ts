import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** Where the data of an automation names one. */
const NAMED_AT = { push: '$.**.push ? (@ == $id)' } as const

/** An active or paused automation that names it; null when there is none. */
export async function automationNaming(tx: Tx, environment: Environment, what: keyof typeof NAMED_AT, id: string): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>(
    `select a.id from automations a
       join automation_versions v on v.environment = a.environment and v.automation_id = a.id and v.version = a.version
     where a.environment = $1 and a.status in ('active', 'paused') and jsonb_path_exists(v.data, $2, jsonb_build_object('id', $3::text))
     limit 1`,
    [environment, NAMED_AT[what], id],
  )
  return rows[0]?.id ?? null
}
