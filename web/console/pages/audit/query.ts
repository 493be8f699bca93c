import type { ActorKind } from '../../../../clients/typescript/src/index.ts'
import type { Search } from '../../data/address.ts'
import type { Input } from '../../data/operations.ts'
import { NO_SPAN, spanOf } from '../../data/spans.ts'
import { ACTORS } from '../../parts/audit-words.ts'

export const KINDS = Object.keys(ACTORS) as ActorKind[]

/** What entries are about; the set may grow, and any other name can be typed. */
export const RESOURCES: readonly string[] = [
  ...[
    'analytics_annotation',
    'analytics_view',
    'api_key',
    'automation',
    'automation_run',
    'customer',
    'customer_permission',
    'entitlement',
  ],
  ...['experiment', 'experiment_group', 'export', 'identity', 'integration', 'integration_config', 'integration_replay', 'offering'],
  ...['product', 'project_settings', 'purchase', 'push', 'remote_configuration', 'scheduled_report', 'scheduled_report_run', 'screen'],
  ...['segment', 'store_config', 'test_clock', 'user', 'user_entitlement', 'user_property'],
]

export const NO_FILTER = {
  ...NO_SPAN,
  ...{ 'f.actor': undefined, 'f.who': undefined, 'f.resource': undefined, 'f.operation': undefined, 'f.id': undefined, after: undefined },
}

export const isFiltered = (search: Search): boolean => Object.keys(NO_FILTER).some(name => name !== 'after' && search[name] !== undefined)

export const actorOf = (search: Search): ActorKind | undefined => KINDS.find(kind => kind === search['f.actor'])

export function queryOf(search: Search, now: number): NonNullable<Input<'v4ListAuditLog'>['query']> {
  const actor = actorOf(search)
  return {
    limit: 50,
    ...(actor && { 'filter[actor][]': [actor] }),
    ...(search['f.who'] && { 'filter[actor_id]': search['f.who'] }),
    ...(search['f.resource'] && { 'filter[resource][]': [search['f.resource']] }),
    ...(search['f.operation'] && { 'filter[operation][]': [search['f.operation']] }),
    ...(search['f.id'] && { 'filter[resource_id]': search['f.id'] }),
    ...spanOf(search, now),
    ...(search.after && { starting_after: search.after }),
  }
}
