import { eventType } from '../../../domain/events/catalogue.ts'
import { Refusal } from '../../../domain/kernel/refusal.ts'
import { TIMELINE_KINDS, type TimelineKind } from '../../../domain/oversight/timeline/sources.ts'
import { readTimeline, type TimelineRow } from '../../../domain/oversight/timeline/timeline.ts'
import { permits } from '../../../domain/projects/authority.ts'
import type { AnswerBody } from '../../../schemas/operation-types.ts'
import { onPool } from '../../operation.ts'
import { restartedHeader } from '../../pagination.ts'
import { wholeSeconds } from '../../time.ts'

/** What a principal must be allowed for the entries of each kind. */
const SCOPES: Record<TimelineKind, string> = {
  event: 'events:read',
  purchase: 'purchases:read',
  access: 'entitlements:read',
  automation_run: 'automations:read',
  delivery: 'integrations:read',
  screen: 'screens:read',
  experiment: 'experiments:read',
  change: 'audit_log:read',
}

type Entry = AnswerBody<'v4ListCustomerTimeline'>['data'][number]
const time = (text: string | null) => (text === null ? null : wholeSeconds(text))
const isOpen = (status: string) => status === 'pending' || status === 'retrying'

/** The end of a grant, as the audit entry of v4 or of v3 has it. */
function endOf(grant: Record<string, unknown> | null): string | null {
  const { expires_at, expires } = grant ?? {}
  if (typeof expires === 'number') return wholeSeconds(expires * 1000)
  return typeof expires_at === 'string' ? expires_at : null
}

/** `as`: the row has just the values that the description allows. */
const entry = ({ at, key: id, ...row }: TimelineRow): Entry => {
  switch (row.source) {
    case 'event': {
      const { name, ...more } = row.data
      return { kind: 'event', at, id, url: `/v4/events/${id}`, event_name: name, title: eventType(name)?.title ?? name, ...more } as Entry
    }
    case 'payment':
    case 'refund': {
      const { id: number, user_id, platform, store_product_id, base_plan_id, amount, currency, period_type, ...times } = row.data
      const url = `/v4/users/${user_id}/purchases/${number}`
      const product_id = base_plan_id === null ? store_product_id : `${store_product_id}:${base_plan_id}`
      return {
        ...{ kind: 'purchase', at, id: number, url, action: row.source, user_id, platform, product_id, amount, currency, period_type },
        ...{ expires_at: time(times.expires_at), refunded_at: time(times.refunded_at) },
      } as Entry
    }
    case 'grant': {
      const { resource_id, before, after, operation, actor_kind, actor_id } = row.data
      const [action, expires_at] = after === null ? ['taken' as const, endOf(before)] : ['granted' as const, endOf(after)]
      return {
        ...{ kind: 'access', at, id, url: `/v4/entitlements/${resource_id}`, action, entitlement_id: resource_id, expires_at },
        ...{ operation, actor: { kind: actor_kind, id: actor_id } },
      } as Entry
    }
    case 'expiry': {
      const { entitlement_id } = row.data
      const what = { kind: 'access' as const, at, id: entitlement_id, url: `/v4/entitlements/${entitlement_id}` }
      return { ...what, action: 'expired', entitlement_id, expires_at: at, operation: null, actor: null }
    }
    case 'run': {
      const { finished_at, ...run } = row.data
      const name = row.named?.name ?? null
      return {
        ...{
          kind: 'automation_run',
          at,
          id,
          url: `/v4/automation-runs/${id}`,
          automation_name: name,
          ...run,
          finished_at: time(finished_at),
        },
      } as Entry
    }
    case 'delivery': {
      const { status, event_id, event_name, source, run_id, reason, attempt_count, delivered_at } = row.data
      const { id: integration_id = null, title = null, is_active = false } = row.named ?? {}
      return {
        ...{
          kind: 'delivery',
          at,
          id,
          url: `/v4/integrations/${integration_id}/deliveries/${id}`,
          integration_id,
          integration_title: title,
        },
        ...{ event_id, event_name, source, run_id, status: isOpen(status) && !is_active ? 'held' : status, reason, attempt_count },
        delivered_at: time(delivered_at),
      } as Entry
    }
    case 'screen': {
      const { screen_id, automation_id, run_id, shown_at, expires_at } = row.data
      const of = { screen_id, screen_name: row.named?.name ?? null, automation_id, run_id }
      return {
        kind: 'screen',
        at,
        id,
        url: `/v4/screens/${screen_id}`,
        ...of,
        shown_at: time(shown_at),
        expires_at: wholeSeconds(expires_at),
      }
    }
    case 'assignment': {
      const { experiment, group } = row.named
      const what = { kind: 'experiment' as const, at, id, url: `/v4/experiments/${id}`, experiment_name: experiment }
      return { ...what, group_id: row.data.group_id, group_name: group, pinned: row.data.pinned }
    }
    case 'change': {
      const { operation, resource, resource_id, reason, actor_kind, actor_id } = row.data
      const actor = { kind: actor_kind, id: actor_id }
      return { kind: 'change', at, id, url: `/v4/audit-log/${id}`, operation, resource, resource_id, actor, reason } as Entry
    }
    default:
      return row satisfies never
  }
}

export const v4ListCustomerTimeline = onPool('v4ListCustomerTimeline', async ({ path, query, principal, environment, deps }) => {
  const { limit, starting_after: after } = query
  const asked = query['kinds[]']
  const refused = asked?.find(kind => !permits(principal.scopes, SCOPES[kind]))
  if (refused) throw new Refusal('control_forbidden', `entries of the kind ${refused} need the scope ${SCOPES[refused]}`)
  const kinds = TIMELINE_KINDS.filter(kind => (asked ? asked.includes(kind) : permits(principal.scopes, SCOPES[kind])))
  const { rows, next, restarted } = await readTimeline(deps.listing, environment, path.customer_id, { kinds, limit, after })
  const list = { object: 'list' as const, url: `/v4/customers/${path.customer_id}/timeline`, kinds, data: rows.map(entry) }
  const body = next === null ? { ...list, has_more: false } : { ...list, has_more: true, next_cursor: next }
  return { body, headers: restartedHeader(restarted) }
})
