import type { Tx } from '../../../store/connect.ts'
import { derivedId } from '../../../store/ids.ts'
import { linkedTrace } from '../../../store/tracing.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import { RUN_CANCELLED } from '../../durable/ledger-history/history.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict, notFound, Refusal } from '../../kernel/refusal.ts'
import { type EventSelection, eventFilter } from '../event-filter.ts'
import { takesEvents } from '../providers.ts'
import { DELIVERY_DUE } from './delivery.ts'
import { idleOrderingKeys, insertOrderingKeys, type OrderingKey, scheduleNext } from './ordering-key.ts'
import { requireCreated } from './require-created.ts'

/** `id`: the id of the replay. `events`: slugs; null: all. The window [from, to) is compared with the time at which an event was received. */
export type Replay = {
  id: string
  from: string
  to: string
  events: string[] | null
  statuses: ('delivered' | 'failed' | 'missing')[]
  /** For how many days deliveries are kept. */
  days: number
}

/** Deliveries of one request: a replay is one transaction, and all of its deliveries are in memory. */
const MAX_DELIVERIES = 100_000
/** How far back events without a delivery are looked for. */
const MISSING_DAYS = 30
/** Events that one fetch reads. */
const PAGE = 10_000

const tooMany = (most: number) => {
  const why = `more than ${most} deliveries would be sent`
  return new Refusal('replay_limit_exceeded', why, [{ field: 'to', message: `must be earlier: ${why}` }])
}

type Integration = EventSelection & { number: number; active: number }
/** A delivery that is open again, or new. `user_id`: the user of its ordering key; null: it has none. */
type Opened = { number: number; user_id: string | null }

// A delivery is created when its event was received, or later: a delivery that was created before the window is outside of it. The lateral
// join looks each event up by itself: planned before the tables were analyzed, a plain join read the log once for each delivery (281 s for
// 20,000). The limit is outside of the CTE: inside, the planner might read all deliveries in the order of their numbers.
const ENDED = `
  with ended as materialized (
    select v.number, case when v.source = 'event' then v.user_id end as user_id
    from deliveries v
    cross join lateral (select received_at from events
      where environment = v.environment and partition = v.partition and log_offset = v.log_offset limit 1) e
    where v.environment = $1 and v.integration = $2 and v.status = any ($3) and v.reason is distinct from '${RUN_CANCELLED}'
      and e.received_at >= date_trunc('second', $4::timestamptz) and e.received_at < date_trunc('second', $5::timestamptz)
      and v.created_at >= date_trunc('second', $4::timestamptz) and ($6::text[] is null or v.event_name = any ($6))
  )
  select number, user_id from ended order by number limit $7`

async function findEnded(tx: Tx, environment: Environment, integration: number, replay: Replay, most: number): Promise<Opened[]> {
  const ended = replay.statuses.filter(status => status !== 'missing')
  if (ended.length === 0) return []
  const { rows } = await tx.query<Opened>(ENDED, [environment, integration, ended, replay.from, replay.to, replay.events, most + 1])
  return rows
}

// At most 30 days back, no further than deliveries are kept (one that was removed would be sent again), and no further than the integration's first activation: the log has earlier events, but the integration never took
// them. Within a partition the times of receipt never decrease, so the window is a range of offsets. It ends before the consumer's offset:
// events that the consumer has not read are not missing, and if they were sent now they would overtake earlier events of the same user.
const MISSING = `declare missing no scroll cursor for
  select e.* from generate_series(0, 63) p(partition)
  cross join lateral (select next_offset from log_consumers
    where consumer = 'integrations' and environment = $1 and partition = p.partition limit 1) c
  cross join lateral (select
    greatest(($2::bigint[])[p.partition + 1],
      offset_at($1, p.partition::smallint, greatest(date_trunc('second', $3::timestamptz), environment_now($1) - make_interval(days => $7)))) as first,
    least(c.next_offset, offset_at($1, p.partition::smallint, date_trunc('second', $4::timestamptz))) as until) w
  cross join lateral (
    select partition, log_offset, id, name, user_id, platform from events
    where environment = $1 and partition = p.partition and log_offset >= w.first and log_offset < w.until
      and triggers and ($5::text[] is null or name = any ($5))) e
  where (select v.number from deliveries v where v.integration = $6 and v.event_id = e.id and v.source = 'event' limit 1) is null
  order by e.partition, e.log_offset`

type Missing = { partition: number; log_offset: number; id: string; name: string; user_id: string | null; platform: string | null }

async function findMissing(tx: Tx, environment: Environment, integration: Integration, replay: Replay, most: number): Promise<Missing[]> {
  const { slug, number, from_offsets } = integration
  if (!replay.statuses.includes('missing') || !takesEvents(slug) || from_offsets === null) return []
  await tx.query(MISSING, [environment, from_offsets, replay.from, replay.to, replay.events, number, Math.min(MISSING_DAYS, replay.days)])
  const isSelected = eventFilter(integration)
  const found: Missing[] = []
  // The window may have any number of events that the integration does not take.
  for (let isEnd = false; !isEnd && found.length <= most; ) {
    const { rows } = await tx.query<Missing>(`fetch ${PAGE} from missing`)
    found.push(...rows.filter(isSelected))
    isEnd = rows.length < PAGE
  }
  await tx.query('close missing')
  return found
}

const REOPEN = `
  update deliveries set status = 'pending', reason = null, round_attempts = 0, next_attempt_at = null, delivered_at = null, ended_at = null,
    priority = 1, replay_id = $2, trace_context = coalesce($3, trace_context)
  where number = any ($1::bigint[]) and status in ('delivered', 'failed') and reason is distinct from '${RUN_CANCELLED}'
  returning number, case when source = 'event' then user_id end as user_id`

const CREATE_MISSING = `
  insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, priority, replay_id, created_at, trace_context)
  select $1, w.id, $2, 'event', w.event_id, w.event_name, w.user_id, w.partition, w.log_offset, 1, $9, date_trunc('second', t), $10
  from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::bigint[])
    with ordinality w(id, event_id, event_name, user_id, partition, log_offset, n), environment_now($1) t order by n
  on conflict do nothing returning number, user_id`

async function createMissing(tx: Tx, environment: Environment, integration: number, missing: Missing[], replay: string): Promise<Opened[]> {
  if (missing.length === 0) return []
  const { rows } = await tx.query<Opened>(CREATE_MISSING, [
    environment,
    integration,
    missing.map(({ id }) => derivedId('dlv', id, integration)),
    missing.map(({ id }) => id),
    missing.map(({ name }) => name),
    missing.map(({ user_id }) => user_id),
    missing.map(({ partition }) => partition),
    missing.map(({ log_offset }) => log_offset),
    replay,
    linkedTrace(),
  ])
  if (rows.length < missing.length)
    await requireCreated(
      tx,
      missing.map(() => integration),
      missing.map(({ id }) => id),
    )
  return rows
}

/** Jobs of the deliveries without an ordering key. */
const INSERT_JOBS = insertJobs({
  kind: DELIVERY_DUE,
  id: 'n',
  environment: '$1',
  dueAt: 'environment_now($1)',
  priority: '1',
  destination: '$2',
  isRecreated: true,
  from: 'unnest($3::bigint[]) n',
})

async function findIntegration(tx: Tx, environment: Environment, id: string, lock: '' | 'for key share'): Promise<Integration> {
  const { rows } = await tx.query<Integration>(
    `select number, active, slug, target_platform, from_offsets, events, event_mapping from integrations
     where environment = $1 and id = $2 and deleted_at is null ${lock}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('integration')
  return rows[0]
}

/** The integration, whose state stays as it is until the transaction ends. */
const lockState = (tx: Tx, environment: Environment, id: string): Promise<Integration> =>
  findIntegration(tx, environment, id, 'for key share')

function assertActive({ active }: Integration): void {
  if (active !== 1) throw conflict('the integration is not active')
}

type Found = { ended: Opened[]; missing: Missing[] }

/** What the replay sends. Throws `replay_limit_exceeded` for more than `most`. */
async function findDeliveries(tx: Tx, environment: Environment, integration: Integration, replay: Replay, most: number): Promise<Found> {
  const ended = await findEnded(tx, environment, integration.number, replay, most)
  const missing = await findMissing(tx, environment, integration, replay, most - ended.length)
  if (ended.length + missing.length > most) throw tooMany(most)
  return { ended, missing }
}

/** Opens the ended ones again and creates the missing ones; gives how many. One that was opened meanwhile is left as it is. */
async function open(tx: Tx, environment: Environment, integration: number, { ended, missing }: Found, replay: string): Promise<number> {
  const users = [...new Set([...ended, ...missing].flatMap(({ user_id }) => user_id ?? []))]
  const orderingKeys = users.map((user): OrderingKey => ({ environment, integration, user }))
  await insertOrderingKeys(tx, orderingKeys)
  // An ordering key with an open delivery needs no job: the added deliveries wait behind that one, in the order of the log. An idle key
  // gets a job for its first delivery, after all of its deliveries are open.
  const idle = await idleOrderingKeys(tx, orderingKeys)
  // Without numbers the planner would read all open deliveries: it takes an empty list for a condition that every partial index fulfils.
  const reopened =
    ended.length === 0 ? [] : (await tx.query<Opened>(REOPEN, [ended.map(({ number }) => number), replay, linkedTrace()])).rows
  const opened = [...reopened, ...(await createMissing(tx, environment, integration, missing, replay))]
  await scheduleNext(tx, idle)
  const unordered = opened.filter(({ user_id }) => user_id === null).map(({ number }) => number)
  if (unordered.length > 0) await tx.query(INSERT_JOBS, [environment, integration, unordered])
  announceJobs(tx, DELIVERY_DUE)
  return opened.length
}

/**
 * Opens ended deliveries again and creates the missing ones; gives how many. Throws `conflict` unless the integration is active,
 * `replay_limit_exceeded` for more than `most`.
 */
export async function replayDeliveries(
  tx: Tx,
  environment: Environment,
  id: string,
  replay: Replay,
  most = MAX_DELIVERIES,
): Promise<number> {
  const integration = await lockState(tx, environment, id)
  assertActive(integration)
  const found = await findDeliveries(tx, environment, integration, replay, most)
  return open(tx, environment, integration.number, found, replay.id)
}

/**
 * How many deliveries the replay would send, with the refusals of the replay. It may read for long and locks nothing: a pause of the integration, and a
 * failure that is the tenth in a row, wait for nobody.
 */
export async function countReplay(tx: Tx, environment: Environment, id: string, replay: Replay): Promise<number> {
  const integration = await findIntegration(tx, environment, id, '')
  assertActive(integration)
  const { ended, missing } = await findDeliveries(tx, environment, integration, replay, MAX_DELIVERIES)
  return ended.length + missing.length
}

/**
 * Sends one ended delivery again, under its own id and with new attempts; gives its user. Throws `conflict` while it is under way, after its run was
 * cancelled, and unless the integration is active.
 */
export async function resendDelivery(
  tx: Tx,
  environment: Environment,
  integration: string,
  id: string,
  replay: string,
): Promise<string | null> {
  const sender = await lockState(tx, environment, integration)
  const { rows } = await tx.query<Opened & { owner: string | null; status: string; reason: string | null }>(
    `select number, case when source = 'event' then user_id end as user_id, user_id as owner, status, reason from deliveries
     where environment = $1 and id = $2 and integration = $3`,
    [environment, id, sender.number],
  )
  const [delivery] = rows
  if (!delivery) throw notFound('delivery')
  assertActive(sender)
  if (delivery.reason === RUN_CANCELLED) throw conflict('the run of the delivery was cancelled')
  const isEnded = delivery.status === 'delivered' || delivery.status === 'failed'
  const opened = isEnded ? await open(tx, environment, sender.number, { ended: [delivery], missing: [] }, replay) : 0
  if (opened === 0) throw conflict('the delivery is under way')
  return delivery.owner
}
