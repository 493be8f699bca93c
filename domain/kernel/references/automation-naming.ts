import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Holder } from '../refusal.ts'
import { firstBlocking, type UseSource } from './uses.ts'

export type NamedKind = 'entitlement' | 'screen' | 'segment' | 'push' | 'integration'

/**
 * For each kind, what of the data `v.data` of an automation names the object $id: a step, as a condition in JSON path, or a field. `asked`: the
 * condition of a branch that asks for it. Such a branch is never taken after a deletion, so it prevents none.
 */
const NAMES: Record<NamedKind, { step?: string; field?: string; asked?: string }> = {
  entitlement: { step: '@.type == "grant_entitlement" && @.entitlement_id == $id', asked: '@.metric == $metric' },
  screen: { step: '@.type == "screen" && @.screen == $id', field: `v.data -> 'actions' ->> 'screen'` },
  segment: { field: `v.data ->> 'segments'`, asked: '@.metric == "segment" && @.value == $id' },
  push: { step: '@.type == "push" && @.push == $id', field: `v.data -> 'actions' ->> 'push'` },
  integration: { step: '@.type == "webhook" && @.integration_id == $id' },
}

/** Steps at any depth. */
const stepsOf = (condition: string) =>
  `v.data, '$.steps.** ? (${condition})', jsonb_build_object('id', $2::text, 'metric', 'entitlement:' || $2::text)`

/** The automations whose present version names an object, and the steps that do. An active or paused one prevents its deletion. */
export function automationUses(kind: NamedKind): UseSource {
  const { step, field, asked } = NAMES[kind]
  const asking = asked && `@.type == "branch" && exists (@.conditions[*] ? (${asked}))`
  const naming = [step && `jsonb_path_exists(${stepsOf(step)})`, field && `${field} is not distinct from $2`].filter(Boolean).join(' or ')
  const steps = [step, asking].filter(Boolean).map(condition => `(${condition})`)
  return {
    object: 'automation',
    scanned: true,
    statement: rows => `
      select a.id, a.name, a.status,
        (select coalesce(jsonb_agg(jsonb_build_object('id', s.id, 'name', null)), '[]')
        from (select distinct n ->> 'id' as id from jsonb_path_query(${stepsOf(steps.join(' || '))}) n order by 1) s) as parts,
        a.status in ('active', 'paused') and (${naming}) as blocks
      from ${rows} a cross join lateral (
        select data from automation_versions where environment = $1 and automation_id = a.id and version = a.version limit 1) v
      where a.environment = $1 and (${naming}${asking ? ` or jsonb_path_exists(${stepsOf(asking)})` : ''})`,
  }
}

/**
 * An active or paused automation that names the object; null when there is none. Call this function after the object's own
 * row is locked for its deletion. A transaction that writes an automation locks the rows that the automation names, so after the
 * deletion's lock all such automations are committed and seen, and later ones do not find the object.
 */
export const automationNaming = (tx: Tx, environment: Environment, kind: NamedKind, id: string): Promise<Holder | null> =>
  firstBlocking(tx, environment, id, automationUses(kind))
