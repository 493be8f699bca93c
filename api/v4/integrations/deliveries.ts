import { NO_EVENT_TYPE, slugOf } from '../../../domain/events/catalogue.ts'
import type { DeliveryAttempt } from '../../../domain/integrations/deliveries/delivery.ts'
import { type DeliveryRow, getDelivery, listDeliveries } from '../../../domain/integrations/deliveries/list.ts'
import { loadContent } from '../../../domain/integrations/deliveries/load.ts'
import { type MaskedRequest, maskedRequest } from '../../../domain/integrations/deliveries/masked-request.ts'
import { countReplay, type Replay, replayDeliveries, resendDelivery } from '../../../domain/integrations/deliveries/replay.ts'
import { audit, type Trail } from '../../../domain/kernel/audit/record.ts'
import { invalidField, invalidFields } from '../../../domain/kernel/refusal.ts'
import { micros } from '../../../domain/kernel/time/instant.ts'
import { permits } from '../../../domain/projects/authority.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import type { Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { traceIdOf } from '../../../store/tracing.ts'
import { type ApiDeps, expensiveRead, inTransaction, onPool, planned } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { open } from './start.ts'

/** Longest window of a replay. */
const MAX_WINDOW_MICROS = 31 * 24 * 3600 * 1_000_000

const isOpen = ({ status }: DeliveryRow) => status === 'pending' || status === 'retrying'

const attempt = ({ request: _, ...shown }: DeliveryAttempt) => shown

const delivery = (integration: string, isActive: boolean) => (row: DeliveryRow) => ({
  object: 'integration_delivery' as const,
  id: row.id,
  url: `/v4/integrations/${integration}/deliveries/${row.id}`,
  integration_id: integration,
  event_id: row.event_id,
  event_name: row.event_name,
  user_id: row.user_id,
  source: row.source,
  run_id: row.run_id,
  status: isOpen(row) && !isActive ? ('held' as const) : row.status,
  reason: row.reason,
  attempt_count: row.attempt_count,
  attempts: row.attempts.map(attempt),
  next_attempt_at: isOpen(row) && isActive ? row.next_attempt_at : null,
  delivered_at: row.delivered_at,
  created_at: row.created_at,
})

export const v4ListIntegrationDeliveries = expensiveRead('v4ListIntegrationDeliveries', async ({ path, query, environment, db }) => {
  const { limit, starting_after: after, from, to } = query
  const id = path.integration_id
  const filter = {
    statuses: query['filter[status][]'],
    // A name that is no event type stays: it matches nothing.
    names: query['filter[event_name][]']?.map(type => slugOf(type) ?? type),
    user: query['filter[user_id]'],
    replay: query['filter[replay_id]'],
    from,
    to,
  }
  const { rows, restarted, isActive } = await listDeliveries(db, environment, id, { limit, after, filter })
  const url = `/v4/integrations/${id}/deliveries`
  return { body: cursorPage({ url, rows, limit, item: delivery(id, isActive) }), headers: restartedHeader(restarted) }
})

/** Body and path have what these scopes protect: the event, and who the user is. A path may name the user, as Mailchimp's does. */
const SCOPES_OF_CONTENT = ['events:read', 'customers:read']

const withoutContent = (request: MaskedRequest): MaskedRequest => ({
  ...request,
  address: URL.canParse(request.address) ? `${new URL(request.address).origin}/…` : '…',
  body: null,
})

export const v4GetIntegrationDelivery = onPool('v4GetIntegrationDelivery', async ({ path, principal, environment, deps, db }) => {
  const { integration_id: integration, delivery_id: id } = path
  const row = await getDelivery(db, environment, integration, id)
  const content = await loadContent(db, row.number)
  const settings = content && open({ deps, environment }, content.config)
  const made =
    content && settings ? await deps.probe.requestOf({ id, slug: content.config.slug, settings, occurrence: content.occurrence }) : null
  const request = made && settings ? maskedRequest(made, content!.config.slug, settings) : null
  const maySeeContent = SCOPES_OF_CONTENT.every(scope => permits(principal.scopes, scope))
  const attempts = row.attempts.map(one => ({
    ...attempt(one),
    same_request: one.request === undefined || made === null ? null : one.request === made.fingerprint,
  }))
  const body = {
    ...delivery(integration, row.isActive)(row),
    attempts,
    replay_id: row.replay_id,
    trace_id: traceIdOf(row.trace_context),
    request: request && !maySeeContent ? withoutContent(request) : request,
  }
  return { body }
})

function slugsOf(types: string[]): string[] {
  const slugs = types.map(slugOf)
  const faults = types.flatMap((_, i) => (slugs[i] === null ? [{ field: `events[${i}]`, message: NO_EVENT_TYPE }] : []))
  if (faults.length > 0) throw invalidFields(faults)
  return slugs as string[]
}

type Replaying = Input<'v4ReplayIntegrationDeliveries'> & { trail: Trail; deps: Pick<ApiDeps, 'retention'>; tx: Tx }

/** The replay, recorded with the number of deliveries that `send` gives. */
async function replay({ path, body, trail, deps, tx }: Replaying, id: string | null, send: (replay: Replay) => Promise<number>) {
  const { from, to, events, status: statuses = ['failed' as const] } = body
  const length = micros(to) - micros(from)
  if (length <= 0) throw invalidField('to', 'must be later than from')
  if (length > MAX_WINDOW_MICROS) throw invalidField('to', 'must be at most 31 days after from')
  const matched = await send({ id: id ?? '', from, to, events: events ? slugsOf(events) : null, statuses, days: deps.retention.deliveries })
  await audit(tx, trail, {
    resource: 'integration_replay',
    id: path.integration_id,
    after: { from, to, events: events ?? null, status: statuses, matched, replay_id: id },
    isSend: true,
  })
  return matched
}

/** A dry run counts, and leaves the deliveries to the workers. */
export const v4ReplayIntegrationDeliveries = planned(
  inTransaction('v4ReplayIntegrationDeliveries', async call => {
    const { path, environment, tx } = call
    const id = path.integration_id
    const replay_id = orderedId('rpl')
    const matched = await replay(call, replay_id, wanted => replayDeliveries(tx, environment, id, wanted))
    const url = `/v4/integrations/${id}/deliveries`
    return { body: { object: 'operation' as const, url, message: 'Replay queued' as const, matched, replay_id } }
  }),
  call => replay(call, null, wanted => countReplay(call.tx, call.environment, call.path.integration_id, wanted)),
)

export const v4ResendIntegrationDelivery = inTransaction(
  'v4ResendIntegrationDelivery',
  async ({ path, environment, trail, dryRun, tx }) => {
    const { integration_id: integration, delivery_id: id } = path
    const replay_id = orderedId('rpl')
    const user = await resendDelivery(tx, environment, integration, id, replay_id)
    const after = { integration_id: integration, replay_id: dryRun ? null : replay_id }
    await audit(tx, trail, { resource: 'integration_delivery', id, after, isSend: true, ...(user !== null && { user }) })
    const url = `/v4/integrations/${integration}/deliveries/${id}`
    return { body: { object: 'operation' as const, url, message: 'Resend queued' as const, replay_id } }
  },
)
