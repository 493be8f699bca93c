import type { Tx } from '../../store/connect.ts'
import { orderedId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { DUE_CHANNEL } from '../runs/create.ts'
import { DELIVERY_DUE, firstDue } from './delivery.ts'
import { openLanes } from './lane.ts'

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
  ), promised as (
    insert into due (kind, id, environment, due_at, destination)
    select '${DELIVERY_DUE}', h.number, $1, ${firstDue('h.created_at')}, i.number
    from heads h cross join lateral (select * from integrations where number = h.integration limit 1) i order by h.number
    returning 1
  )
  select pg_notify('${DUE_CHANNEL}', '${DELIVERY_DUE}') from promised limit 1`

/**
 * One delivery per integration and event; those that were made before are passed over. The integrations are held: their state does not
 * change before the transaction ends.
 */
export async function insertDeliveries(tx: Tx, environment: Environment, wanted: readonly NewDelivery[]): Promise<void> {
  if (wanted.length === 0) return
  await openLanes(
    tx,
    wanted.flatMap(({ integration, user_id: user }) => (user === null ? [] : [{ environment, integration, user }])),
  )
  await tx.query({
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
    ],
  })
}
