import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Holder } from '../refusal.ts'
import { firstBlocking, type UseSource } from './uses.ts'

export type NamedKind = 'entitlement' | 'screen' | 'segment' | 'push' | 'integration'

/** For each kind, what of the data `v.data` of an automation names the object $id: a step, as a condition in JSON path, or a field. */
const NAMES: Record<NamedKind, { step?: string; field?: string }> = {
  entitlement: { step: '@.type == "grant_entitlement" && @.entitlement_id == $id' },
  screen: { step: '@.type == "screen" && @.screen == $id', field: `v.data -> 'actions' ->> 'screen'` },
  segment: { field: `v.data ->> 'segments'` },
  push: { step: '@.type == "push" && @.push == $id', field: `v.data -> 'actions' ->> 'push'` },
  integration: { step: '@.type == "webhook" && @.integration_id == $id' },
}
/** A condition of a branch on somebody's access names it, too. The branch of a deleted entitlement is never taken, so it prevents nothing. */
const ASKS_FOR = '@.type == "branch" && exists (@.conditions[*] ? (@.metric == $metric))'

/** Steps at any depth. */
const stepsOf = (condition: string) =>
  `v.data, '$.steps.** ? (${condition})', jsonb_build_object('id', $2::text, 'metric', 'entitlement:' || $2::text)`

/** The automations whose present version names an object, and the steps that do. An active or paused one prevents its deletion. */
export function automationUses(kind: NamedKind): UseSource {
  const { step, field } = NAMES[kind]
  const naming = [...(step ? [`jsonb_path_exists(${stepsOf(step)})`] : []), ...(field ? [`${field} = $2`] : [])].join(' or ')
  const all = [step, kind === 'entitlement' ? ASKS_FOR : undefined].filter(condition => condition !== undefined)
  const shown = all.length === 0 ? null : stepsOf(all.map(condition => `(${condition})`).join(' || '))
  return {
    object: 'automation',
    scanned: true,
    statement: rows => `
      select a.id, a.name, a.status, ${
        shown === null
          ? `'[]'::jsonb`
          : `(select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'name', null)), '[]')
        from (select distinct n ->> 'id' as id from jsonb_path_query(${shown}) n order by 1) s)`
      } as parts,
        a.status in ('active', 'paused') and (${naming}) as blocks
      from ${rows} a cross join lateral (
        select data from automation_versions where environment = $1 and automation_id = a.id and version = a.version limit 1) v
      where a.environment = $1 and (${naming}${kind === 'entitlement' ? ` or jsonb_path_exists(${stepsOf(ASKS_FOR)})` : ''})`,
  }
}

/**
 * An active or paused automation that names the object; null when there is none. Call this function after the object's own
 * row is locked for its deletion. A transaction that writes an automation locks the rows that the automation names, so after the
 * deletion's lock all such automations are committed and seen, and later ones do not find the object.
 */
export const automationNaming = (tx: Tx, environment: Environment, kind: NamedKind, id: string): Promise<Holder | null> =>
  firstBlocking(tx, environment, id, automationUses(kind))
