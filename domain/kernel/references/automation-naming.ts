import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Holder } from '../refusal.ts'

/** A condition on the automation's data: a step of the type, at any depth, names the id $2 in the field. */
const step = (type: string, field: string) =>
  `jsonb_path_exists(v.data, '$.steps.** ? (@.type == "${type}" && @.${field} == $id)', jsonb_build_object('id', $2::text))`

export type NamedKind = 'entitlement' | 'screen' | 'segment' | 'push' | 'integration'

/** For each kind, the condition that the automation's data `v.data` names the object with the id $2. */
const NAMES: Record<NamedKind, string> = {
  entitlement: step('grant_entitlement', 'entitlement_id'),
  screen: `(v.data -> 'actions' ->> 'screen' = $2 or ${step('screen', 'screen')})`,
  segment: `v.data ->> 'segments' = $2`,
  push: `(v.data -> 'actions' ->> 'push' = $2 or ${step('push', 'push')})`,
  integration: step('webhook', 'integration_id'),
}

/**
 * An active or paused automation that names the object; null when there is none. Call this function after the object's own
 * row is locked for its deletion. A transaction that writes an automation locks the rows that the automation names, so after the
 * deletion's lock all such automations are committed and seen, and later ones do not find the object.
 */
export async function automationNaming(tx: Tx, environment: Environment, kind: NamedKind, id: string): Promise<Holder | null> {
  const { rows } = await tx.query<Holder>(
    `select 'automation' as kind, a.id, a.name as title from automations a
     join automation_versions v on v.environment = a.environment and v.automation_id = a.id and v.version = a.version
     where a.environment = $1 and a.status in ('active', 'paused') and ${NAMES[kind]} limit 1`,
    [environment, id],
  )
  return rows[0] ?? null
}
