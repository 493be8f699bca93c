import type { Tx } from '../../store/connect.ts'
import { insertJobs, notifyWorkers } from '../jobs/sql.ts'
import { DELIVERY_DUE } from './delivery.ts'

/** Whose deliveries to which integration go out one after the other. */
export type OrderingKey = { environment: number; integration: number; user: string }

const columns = (lanes: readonly OrderingKey[]) => [
  lanes.map(({ environment }) => environment),
  lanes.map(({ integration }) => integration),
  lanes.map(({ user }) => user),
]

const LOCK = `
  select 1 from (select distinct * from unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id) order by 1, 2, 3) w
  cross join lateral (
    select 1 from ordering_keys where environment = w.environment and integration = w.integration and user_id = w.user_id
    limit 1 for no key update) l`

/** Holds the lanes until the transaction ends. What is in them may be looked at in the next statement, not before. */
export async function lockOrderingKeys(tx: Tx, lanes: readonly OrderingKey[]): Promise<void> {
  if (lanes.length > 0) await tx.query({ name: 'lock-delivery-lanes', text: LOCK, values: columns(lanes) })
}

/** The same, for lanes that nobody may have used yet. */
export async function insertOrderingKeys(tx: Tx, lanes: readonly OrderingKey[]): Promise<void> {
  if (lanes.length === 0) return
  await tx.query({
    name: 'open-delivery-lanes',
    text: `insert into ordering_keys (environment, integration, user_id)
           select distinct * from unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id) order by 1, 2, 3
           on conflict do nothing`,
    values: columns(lanes),
  })
  await lockOrderingKeys(tx, lanes)
}

/** Those of the lanes in which nothing is open. They are locked. */
export async function idleOrderingKeys(tx: Tx, lanes: readonly OrderingKey[]): Promise<OrderingKey[]> {
  if (lanes.length === 0) return []
  const { rows } = await tx.query<OrderingKey>({
    name: 'idle-delivery-lanes',
    text: `select environment, integration, user_id as user from unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id)
           where (select v.number from deliveries v where v.integration = w.integration and v.user_id = w.user_id
             and v.status in ('pending', 'retrying') and v.source = 'event' limit 1) is null`,
    values: columns(lanes),
  })
  return rows
}

const NEXT = `
  with jobs as (
    ${insertJobs({
      kind: DELIVERY_DUE,
      id: 'n.number',
      environment: 'w.environment',
      dueAt: 'environment_now(w.environment)',
      priority: 'n.priority',
      destination: 'w.integration',
      isRecreated: true,
      from: `(select distinct * from unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id)) w
        cross join lateral (
          select number, priority from deliveries v
          where v.integration = w.integration and v.user_id = w.user_id and v.status in ('pending', 'retrying') and v.source = 'event'
          order by v.log_offset limit 1) n
        order by n.number`,
    })} returning 1)
  select ${notifyWorkers(DELIVERY_DUE)} from jobs limit 1`

/** The heads of these lanes have ended, in an earlier statement: the next of each is due. The lanes are locked. */
export async function scheduleNext(tx: Tx, lanes: readonly OrderingKey[]): Promise<void> {
  if (lanes.length === 0) return
  await tx.query({ name: 'schedule-next-deliveries', text: NEXT, values: columns(lanes) })
}
