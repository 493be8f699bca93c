import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

const step = (type: string, field: string) =>
  `jsonb_path_exists(v.data, '$.steps.** ? (@.type == "${type}" && @.${field} == $id)', jsonb_build_object('id', $2::text))`

/** Of the data `v.data`: whether it names the thing of the id $2. */
const NAMES: Record<NamedKind, string> = {
  entitlement: step('grant_entitlement', 'entitlement_id'),
  screen: `(v.data -> 'actions' ->> 'screen' = $2 or ${step('screen', 'screen')})`,
  segment: `v.data ->> 'segments' = $2`,
  push: `(v.data -> 'actions' ->> 'push' = $2 or ${step('push', 'push')})`,
  integration: step('webhook', 'integration_id'),
}

/**
 * An active or paused automation that names the thing; null when there is none. Ask once the thing's own row is locked for its removal: whoever names it
 * holds that row until the end of the transaction, so all of them are seen, and later ones do not find it.
 */
export async function automationNaming(tx: Tx, environment: Environment, kind: NamedKind, id: string): Promise<string | null> {
  const { rows } = await tx.query<{ id: string }>(
    `select a.id from automations a
     join automation_versions v on v.environment = a.environment and v.automation_id = a.id and v.version = a.version
     where a.environment = $1 and a.status in ('active', 'paused') and ${NAMES[kind]} limit 1`,
    [environment, id],
  )
  return rows[0]?.id ?? null
}
export type NamedKind = 'entitlement' | 'screen' | 'segment' | 'push' | 'integration'
