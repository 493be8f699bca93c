import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { takesEvents } from '../integrations/catalogue.ts'
import { isAfterStart, type Selection, selector } from '../integrations/select.ts'
import { conflict, notFound } from '../refusal.ts'
import { DUE_CHANNEL } from '../runs/create.ts'
import { DELIVERY_DUE } from './delivery.ts'
import { insertDeliveries, type NewDelivery } from './insert.ts'
import { openLanes } from './lane.ts'

/** `events`: slugs; null is all. The window is [from, to) of the events' arrival. */
export type Replay = { from: string; to: string; events: string[] | null; statuses: ('delivered' | 'failed' | 'missing')[] }

type Integration = Selection & { number: number; active: number }

// The window is one of arrival, so each partition's events in it stand together in the log; their offsets are found by halving.
const IN_WINDOW = `
  select v.number, v.user_id from deliveries v join events e on e.environment = v.environment and e.partition = v.partition
    and e.log_offset = v.log_offset
  where v.environment = $1 and v.integration = $2 and v.status = any ($3) and e.received_at >= $4 and e.received_at < $5
    and v.created_at >= date_trunc('second', $4::timestamptz) and ($6::text[] is null or v.event_name = any ($6))
  order by v.number`

// Each lane's first is due, unless the lane is in motion: it then stands in the order of the log, behind the one under way.
const REOPEN = `
  with reopened as (
    update deliveries set status = 'pending', reason = null, round_attempts = 0, next_attempt_at = null, delivered_at = null, ended_at = null,
      priority = 1
    where number = any ($2::bigint[]) and status in ('delivered', 'failed')
    returning number, integration, user_id, source, log_offset
  ), heads as (
    select number, integration from (
      select *, row_number() over (partition by user_id order by log_offset) as place from reopened where source = 'event' and user_id is not null) r
    where place = 1 and not exists (
      select 1 from deliveries o where o.integration = r.integration and o.user_id = r.user_id and o.status in ('pending', 'retrying')
        and o.source = 'event')
    union all select number, integration from reopened where source = 'automation' or user_id is null
  ), promised as (
    insert into due (kind, id, environment, due_at, priority, destination)
    select '${DELIVERY_DUE}', number, $1, environment_now($1), 1, integration from heads order by number
  )
  select count(*)::int as reopened, pg_notify('${DUE_CHANNEL}', '${DELIVERY_DUE}') from reopened`

async function reopen(tx: Tx, environment: Environment, integration: number, { from, to, events, statuses }: Replay): Promise<number> {
  const ended = statuses.filter(status => status !== 'missing')
  if (ended.length === 0) return 0
  const { rows } = await tx.query<{ number: number; user_id: string | null }>(IN_WINDOW, [
    environment,
    integration,
    ended,
    from,
    to,
    events,
  ])
  if (rows.length === 0) return 0
  await openLanes(
    tx,
    rows.flatMap(({ user_id: user }) => (user === null ? [] : [{ environment, integration, user }])),
  )
  const numbers = rows.map(({ number }) => number)
  const { rows: done } = await tx.query<{ reopened: number }>(REOPEN, [environment, numbers])
  return done[0]!.reopened
}

// 30 days back, from the start of the integration on: the log has what came before, but that was never its own.
const MISSING = `
  select e.partition, e.log_offset, e.id, e.name, e.user_id, e.platform
  from generate_series(0, 63) p(partition) cross join lateral (
    select partition, log_offset, id, name, user_id, platform, received_at, triggers from events
    where environment = $1 and partition = p.partition and log_offset >= ($2::bigint[])[p.partition + 1]) e
  where e.triggers and e.received_at >= greatest($3::timestamptz, environment_now($1) - interval '30 days') and e.received_at < $4
    and ($5::text[] is null or e.name = any ($5))
    and not exists (select 1 from deliveries v where v.integration = $6 and v.event_id = e.id and v.source = 'event')
  order by e.partition, e.log_offset`

type Found = { partition: number; log_offset: number; id: string; name: string; user_id: string | null; platform: string | null }

async function makeMissing(tx: Tx, environment: Environment, integration: Integration, { from, to, events }: Replay): Promise<number> {
  if (!takesEvents(integration.slug) || integration.from_offsets === null) return 0
  const { rows } = await tx.query<Found>(MISSING, [environment, integration.from_offsets, from, to, events, integration.number])
  const takes = selector(integration)
  const wanted = rows
    .filter(event => isAfterStart(integration, event) && takes(event))
    .map(
      ({ id, name, user_id, partition, log_offset }): NewDelivery => ({
        integration: integration.number,
        event_id: id,
        event_name: name,
        user_id,
        partition,
        log_offset,
      }),
    )
  return insertDeliveries(tx, environment, wanted, 1)
}

/** Sends again, and makes up for what was left out; gives how many. Throws `conflict` unless the integration is active. */
export async function replayDeliveries(tx: Tx, environment: Environment, id: string, replay: Replay): Promise<number> {
  const { rows } = await tx.query<Integration>(
    `select number, active, slug, target_platform, from_offsets, events, event_mapping from integrations
     where environment = $1 and id = $2 and deleted_at is null for share`,
    [environment, id],
  )
  const integration = rows[0]
  if (!integration) throw notFound('integration')
  if (integration.active !== 1) throw conflict('the integration is not active')
  const made = replay.statuses.includes('missing') ? await makeMissing(tx, environment, integration, replay) : 0
  return made + (await reopen(tx, environment, integration.number, replay))
}
