import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { capacityValues, FIRST_FENCE, type InsertCapacity, leaseIf } from '../jobs/claim-on-insert.ts'
import type { ClaimedJob } from '../jobs/job.ts'
import { insertJobs, notifyWorkers } from '../jobs/sql.ts'
import { DELIVERY_DUE, firstDue } from './delivery.ts'
import { insertOrderingKeys } from './ordering-key.ts'

/** An event that is to go to an integration (its number). */
export type NewDelivery = {
  integration: number
  event_id: string
  event_name: string
  user_id: string | null
  partition: number
  log_offset: number
}

// In its snapshot a lane has either its head (which ends after we are done: we hold the lane) or nothing at all. The new ones of a lane
// stand behind the head, or the first of them is the head.
const INSERT = `
  with wanted as (
    select * from unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::smallint[], $8::bigint[])
      with ordinality w(integration, id, event_id, event_name, user_id, partition, log_offset, n)
  ), made as (
    insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, created_at)
    select $1, id, integration, 'event', event_id, event_name, user_id, partition, log_offset, date_trunc('second', t)
    from wanted, environment_now($1) t order by n
    on conflict (integration, event_id) where source = 'event' do nothing
    returning number, integration, user_id, log_offset, created_at
  ), heads as (
    select number, integration, created_at from (
      select *, row_number() over (partition by integration, user_id order by log_offset) as place from made) m
    where user_id is null or place = 1 and (
      select o.number from deliveries o where o.integration = m.integration and o.user_id = m.user_id and o.status in ('pending', 'retrying')
        and o.source = 'event' limit 1) is null
  ), own as (
    select ${leaseIf('count(*) <= $9', '$11')} as lease from heads
  ), jobs as (
    ${insertJobs({
      kind: DELIVERY_DUE,
      id: 'h.number',
      environment: '$1',
      dueAt: firstDue('h.created_at'),
      destination: 'i.number',
      lease: 'l.lease',
      from: `heads h cross join own cross join lateral (select * from integrations where number = h.integration limit 1) i
        cross join lateral (select case when i.active = 1 and i.number <> all ($10::int[]) then own.lease end as lease) l
        order by h.number`,
    })}
    returning id, destination, lease_until
  )
  select array_agg(id) filter (where lease_until is not null) as claimed,
    array_agg(destination) filter (where lease_until is not null) as destinations,
    case when bool_or(lease_until is null) then ${notifyWorkers(DELIVERY_DUE)} end
  from jobs`

/**
 * One delivery per integration and event; those that were made before are passed over. The integrations are held: their state does not
 * change before the transaction ends. Those that may go out at once are claimed, where there is room for all of them in this process.
 */
export async function insertDeliveries(
  tx: Tx,
  environment: Environment,
  wanted: readonly NewDelivery[],
  room: InsertCapacity | null,
): Promise<ClaimedJob[]> {
  if (wanted.length === 0) return []
  await insertOrderingKeys(
    tx,
    wanted.flatMap(({ integration, user_id: user }) => (user === null ? [] : [{ environment, integration, user }])),
  )
  const { rows } = await tx.query<{ claimed: number[] | null; destinations: number[] }>({
    name: 'insert-deliveries',
    text: INSERT,
    values: [
      environment,
      wanted.map(({ integration }) => integration),
      wanted.map(() => orderedId('dlv')),
      wanted.map(({ event_id }) => event_id),
      wanted.map(({ event_name }) => event_name),
      wanted.map(({ user_id }) => user_id),
      wanted.map(({ partition }) => partition),
      wanted.map(({ log_offset }) => log_offset),
      ...capacityValues(room),
    ],
  })
  const { claimed, destinations } = rows[0]!
  return (claimed ?? []).map((id, i) => ({ kind: DELIVERY_DUE, id, fence: FIRST_FENCE, environment, destination: destinations[i]! }))
}
