import { NO_EVENT_TYPE, slugOf } from '../../../domain/events/catalogue.ts'
import { type DeliveryRow, listDeliveries } from '../../../domain/integrations/deliveries/list.ts'
import { replayDeliveries } from '../../../domain/integrations/deliveries/replay.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { invalidField, invalidFields } from '../../../domain/kernel/refusal.ts'
import { micros } from '../../../domain/kernel/time/instant.ts'
import { orderedId } from '../../../store/ids.ts'
import { expensiveRead, inTransaction } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'

/** Longest window of a replay. */
const MAX_WINDOW_MICROS = 31 * 24 * 3600 * 1_000_000

const isOpen = ({ status }: DeliveryRow) => status === 'pending' || status === 'retrying'

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
  attempts: row.attempts,
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

function slugsOf(types: string[]): string[] {
  const slugs = types.map(slugOf)
  const faults = types.flatMap((_, i) => (slugs[i] === null ? [{ field: `events[${i}]`, message: NO_EVENT_TYPE }] : []))
  if (faults.length > 0) throw invalidFields(faults)
  return slugs as string[]
}

export const v4ReplayIntegrationDeliveries = inTransaction(
  'v4ReplayIntegrationDeliveries',
  async ({ path, body, environment, trail, dryRun, tx }) => {
    const { from, to, events, status: statuses = ['failed' as const] } = body
    const length = micros(to) - micros(from)
    if (length <= 0) throw invalidField('to', 'must be later than from')
    if (length > MAX_WINDOW_MICROS) throw invalidField('to', 'must be at most 31 days after from')
    const id = path.integration_id
    const replay = orderedId('rpl')
    const matched = await replayDeliveries(tx, environment, id, { id: replay, from, to, events: events ? slugsOf(events) : null, statuses })
    await audit(tx, trail, {
      resource: 'integration_replay',
      id,
      after: { from, to, events: events ?? null, status: statuses, matched, replay_id: dryRun ? null : replay },
      isSend: true,
    })
    const url = `/v4/integrations/${id}/deliveries`
    return { body: { object: 'operation' as const, url, message: 'Replay queued' as const, matched, replay_id: replay } }
  },
)
