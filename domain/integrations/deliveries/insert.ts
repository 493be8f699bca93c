import { arrayOf } from '../../../store/array-literal.ts'
import type { Tx } from '../../../store/connect.ts'
import { derivedId } from '../../../store/ids.ts'
import { capacityValues, FIRST_FENCE, type InsertCapacity, leaseOfNth } from '../../durable/jobs/claim-on-insert.ts'
import { announceJobs, type ClaimedJob } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import type { Environment } from '../../kernel/environment.ts'
import { DELIVERY_DUE, firstDue } from './delivery.ts'
import { insertOrderingKeys } from './ordering-key.ts'
import { requireCreated } from './require-created.ts'

/** An event for an integration, given by its number. */
export type NewDelivery = {
  integration: number
  event_id: string
  event_name: string
  user_id: string | null
  partition: number
  log_offset: number
  trace?: string | null
}

// The ordering keys are locked: in the snapshot of the statement a key has either an open delivery at its head, which cannot end before
// this transaction does, or none. The new deliveries of a key wait behind that head, or the first of them becomes the head.
const LEASE = leaseOfNth({ nth: 'i.nth', nthOf: 'i.nth_of', destination: 'i.destination', first: 10 })
const INSERT = `
  with given as (
    select * from unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::bigint[], $9::text[])
      with ordinality w(integration, id, event_id, event_name, user_id, partition, log_offset, trace, n)
  ), created as (
    insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, created_at, trace_context)
    select $1, id, integration, 'event', event_id, event_name, user_id, partition, log_offset, date_trunc('second', t), trace
    from given, environment_now($1) t order by n
    on conflict do nothing
    returning number, integration, user_id, log_offset, created_at
  ), heads as (
    select number, integration, created_at from (
      select *, row_number() over (partition by integration, user_id order by log_offset) as nth from created) c
    where user_id is null or nth = 1 and (
      select o.number from deliveries o where o.integration = c.integration and o.user_id = c.user_id and o.status in ('pending', 'retrying')
        and o.source = 'event' order by o.log_offset limit 1) is null
  ), placed as (
    select h.number, h.created_at, row_number() over (order by h.number) as nth, row_number() over (partition by h.integration order by h.number) as nth_of,
      i.number as destination, i.active, i.held_since
    from heads h cross join lateral (select number, active, held_since from integrations where number = h.integration limit 1) i
  ), jobs as (
    ${insertJobs({
      kind: DELIVERY_DUE,
      id: 'i.number',
      environment: '$1',
      dueAt: firstDue('i.created_at'),
      destination: 'i.destination',
      lease: 'l.lease',
      from: `placed i cross join lateral (select case when i.active = 1 then ${LEASE} end as lease) l
        order by i.number`,
    })}
    returning id, destination, lease_until
  )
  select array_agg(id) filter (where lease_until is not null) as claimed,
    array_agg(destination) filter (where lease_until is not null) as destinations,
    coalesce(bool_or(lease_until is null), false) as has_others, (select count(*)::int from created) as created
  from jobs`

/**
 * Creates one delivery per integration and event; a delivery that exists already is skipped. The integrations are locked: their state does
 * not change before the transaction ends. The deliveries that are due at once are claimed on insert, as far as this process has capacity.
 */
export async function insertDeliveries(
  tx: Tx,
  environment: Environment,
  given: readonly NewDelivery[],
  capacity: InsertCapacity | null,
): Promise<ClaimedJob[]> {
  if (given.length === 0) return []
  // Numbers in the order of the ids: probes go by numbers, and lists show ids. The order for each user is that of the log, whatever the numbers are.
  const deliveries = given.toSorted((a, b) => (a.event_id < b.event_id ? -1 : a.event_id > b.event_id ? 1 : 0))
  await insertOrderingKeys(
    tx,
    deliveries.flatMap(({ integration, user_id: user }) => (user === null ? [] : [{ environment, integration, user }])),
  )
  const { rows } = await tx.query<{ claimed: number[] | null; destinations: number[]; has_others: boolean; created: number }>({
    name: 'insert-deliveries',
    text: INSERT,
    values: [
      environment,
      deliveries.map(({ integration }) => integration),
      deliveries.map(({ integration, event_id }) => derivedId('dlv', event_id, integration)),
      deliveries.map(({ event_id }) => event_id),
      deliveries.map(({ event_name }) => event_name),
      deliveries.map(({ user_id }) => user_id),
      deliveries.map(({ partition }) => partition),
      deliveries.map(({ log_offset }) => log_offset),
      arrayOf(deliveries, ({ trace = null }) => trace),
      ...capacityValues(capacity),
    ],
  })
  const { claimed, destinations, has_others, created } = rows[0]!
  if (created < deliveries.length)
    await requireCreated(
      tx,
      deliveries.map(({ integration }) => integration),
      deliveries.map(({ event_id }) => event_id),
    )
  if (has_others) announceJobs(tx, DELIVERY_DUE)
  return (claimed ?? []).map((id, i) => ({ kind: DELIVERY_DUE, id, fence: FIRST_FENCE, environment, destination: destinations[i]! }))
}
