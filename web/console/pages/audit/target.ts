import type { AuditEntry } from '../../../../clients/typescript/src/index.ts'
import type { Target } from '../../parts/to.tsx'

type Of = (id: string) => Target
const page =
  (path: string): Of =>
  id => ({ to: `${path}/${encodeURIComponent(id)}` })
const customer = page('/customers')

const TARGETS: Readonly<Record<string, Of>> = {
  customer,
  user: customer,
  user_property: customer,
  automation: page('/automations'),
  automation_run: page('/runs'),
  remote_configuration: page('/configurations'),
  remote_config_payload: page('/configurations'),
  remote_config_payload_mapping: page('/configurations'),
  experiment: page('/experiments'),
  segment: page('/segments'),
  integration: page('/integrations'),
  integration_config: page('/integrations'),
  integration_replay: page('/integrations'),
  integration_test: page('/integrations'),
  scheduled_report: page('/reports'),
  product: id => ({ to: '/catalogue', search: { at: `one.${id}` } }),
  offering: id => ({ to: '/catalogue', search: { tab: 'offerings', at: `one.${id}` } }),
  entitlement: id => ({ to: '/catalogue', search: { tab: 'entitlements', at: `one.${id}` } }),
  screen: page('/screens'),
  push: id => ({ to: '/pushes', search: { at: id } }),
  export: id => ({ to: '/exports', search: { at: id } }),
  api_key: id => ({ to: '/settings', search: { tab: 'keys', at: id } }),
  store_config: id => ({ to: '/settings', search: { tab: 'stores', at: id } }),
}

/** Where the object of an entry is shown; undefined where it has no page, or is gone. */
export function targetOf({ resource, resource_id: id, operation, after }: AuditEntry): Target | undefined {
  if (resource === 'project_settings') return { to: '/settings' }
  if (id === null || (after === null && /delete/i.test(operation))) return undefined
  return Object.hasOwn(TARGETS, resource) ? TARGETS[resource]!(id) : undefined
}
