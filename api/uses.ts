import type { Environment } from '../domain/kernel/environment.ts'
import type { BoundedCount, Uses, UsingKind } from '../domain/kernel/references/uses.ts'
import type { Principal } from '../domain/operators/principal.ts'
import { permits, type Scopes } from '../domain/projects/authority.ts'

/** Who sees it, and where. */
export type Viewed = { principal: Pick<Principal, 'scopes'>; environment: Environment }

/** What a principal must be allowed to read to see the names of a kind. */
const SCOPES: Record<UsingKind, string> = {
  analytics_view: 'analytics:read',
  automation: 'automations:read',
  entitlement: 'entitlements:read',
  experiment: 'experiments:read',
  export: 'exports:read',
  offering: 'offerings:read',
  remote_configuration: 'remote_configurations:read',
  screen: 'screens:read',
  segment: 'segments:read',
}

/** The fields of an object that say what names it; `found` is undefined where nothing does. */
export const usedBy = (found: Uses | undefined, scopes: Scopes) => ({
  used_by: (found?.uses ?? []).map(({ object, id, name, status, parts, blocks }) => {
    const isOpen = permits(scopes, SCOPES[object])
    return {
      ...{ object, id, name: isOpen ? name : null, status },
      ...{ parts: isOpen ? parts : [], prevents_deletion: blocks },
    }
  }),
  used_by_has_more: found?.more ?? false,
})

export const countOf = ({ count, more }: BoundedCount) => ({ count, has_more: more })
