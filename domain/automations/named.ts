import type { Tx } from '../../store/connect.ts'
import { lockInOrder, textKeys } from '../../store/lock-in-order.ts'
import { lockSegments } from '../audience/segments/missing.ts'
import type { Environment } from '../kernel/environment.ts'
import type { NamedKind } from '../kernel/references/automation-naming.ts'
import type { AutomationData } from './automation-runs/definition.ts'
import { locatedSteps } from './automation-runs/definition.ts'
import { conditionsIn } from './conditions.ts'

/** An object that an automation names; `field` as errors name it. */
export type Named = { kind: NamedKind; id: string; field: string }

/** All objects that the data names by id, except in conditions. */
export function namedIn({ actions, segments, steps }: AutomationData): Named[] {
  const inSteps = locatedSteps(steps ?? []).flatMap(({ step, field }): Named[] => {
    switch (step.type) {
      case 'webhook':
        return [{ kind: 'integration', id: step.integration_id, field: `${field}.integration_id` }]
      case 'push':
        return [{ kind: 'push', id: step.push, field: `${field}.push` }]
      case 'screen':
        return [{ kind: 'screen', id: step.screen, field: `${field}.screen` }]
      case 'grant_entitlement':
        return [{ kind: 'entitlement', id: step.entitlement_id, field: `${field}.entitlement_id` }]
      default:
        return []
    }
  })
  return [
    ...(actions.push === undefined ? [] : [{ kind: 'push' as const, id: actions.push, field: 'data.actions.push' }]),
    ...(actions.screen === undefined ? [] : [{ kind: 'screen' as const, id: actions.screen, field: 'data.actions.screen' }]),
    ...(segments === null ? [] : [{ kind: 'segment' as const, id: segments, field: 'data.segments' }]),
    ...inSteps,
  ]
}

/** The same and the segments that conditions name: an automation cannot be activated without one of them. */
export const neededBy = (data: AutomationData): Named[] => [
  ...namedIn(data),
  ...conditionsIn(data).flatMap(({ metric, value }) =>
    metric === 'segment' ? [{ kind: 'segment' as const, id: value, field: 'data.steps' }] : [],
  ),
]

type Table = Exclude<NamedKind, 'segment'>
const lockIn = (table: string, where = 'environment = $1') =>
  lockInOrder({ table, key: 'id', keys: textKeys('$2'), where, strength: 'key share' })
const LOCK: Record<Table, string> = {
  entitlement: lockIn('entitlements'),
  screen: lockIn('screens'),
  push: lockIn('pushes'),
  integration: lockIn('integrations', 'environment = $1 and deleted_at is null'),
}
/** The order in which several kinds are locked. */
const KINDS: readonly NamedKind[] = ['entitlement', 'screen', 'segment', 'push', 'integration']

/**
 * Locks the objects and returns those that do not exist. The others cannot be deleted before the transaction ends: a deletion looks for
 * automations that name the object after it has waited for these locks.
 */
export async function lockNamed(tx: Tx, environment: Environment, named: readonly Named[]): Promise<Named[]> {
  const missing = new Set<Named>()
  for (const kind of KINDS) {
    const ofKind = named.filter(one => one.kind === kind)
    if (ofKind.length === 0) continue
    const ids = [...new Set(ofKind.map(({ id }) => id))]
    const gone = kind === 'segment' ? await lockSegments(tx, environment, ids) : await missingIn(tx, environment, kind, ids)
    for (const one of ofKind) if (gone.includes(one.id)) missing.add(one)
  }
  return named.filter(one => missing.has(one))
}

async function missingIn(tx: Tx, environment: Environment, kind: Table, ids: string[]): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(LOCK[kind], [environment, ids])
  const known = new Set(rows.map(({ id }) => id))
  return ids.filter(id => !known.has(id))
}
