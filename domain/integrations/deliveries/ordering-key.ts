import type { Tx } from '../../../store/connect.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import { DELIVERY_DUE } from './delivery.ts'

/** The deliveries of one user to one integration are sent one after the other. */
export type OrderingKey = { environment: number; integration: number; user: string }

export const orderingKeysOf = (deliveries: readonly { orderingKey: OrderingKey | null }[]): OrderingKey[] =>
  deliveries.flatMap(({ orderingKey }) => orderingKey ?? [])

const columns = (keys: readonly OrderingKey[]) => [
  keys.map(({ environment }) => environment),
  keys.map(({ integration }) => integration),
  keys.map(({ user }) => user),
]

const LOCK = `
  select 1 from (select distinct * from unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id) order by 1, 2, 3) w
  cross join lateral (
    select 1 from ordering_keys where environment = w.environment and integration = w.integration and user_id = w.user_id
    limit 1 for no key update) l`

/**
 * Locks ordering keys until the transaction ends. Their deliveries may be read in the next statement, not earlier. A key of an open delivery
 * exists. Returns how many of the keys exist.
 */
export async function lockOrderingKeys(tx: Tx, keys: readonly OrderingKey[]): Promise<number> {
  if (keys.length === 0) return 0
  const { rowCount } = await tx.query({ name: 'lock-ordering-keys', text: LOCK, values: columns(keys) })
  return rowCount ?? 0
}

const nameOf = ({ environment, integration, user }: OrderingKey) => `${environment} ${integration} ${user}`

/** Locks ordering keys that may not exist yet. Retention may delete one between the two statements: then they are repeated. */
export async function insertOrderingKeys(tx: Tx, keys: readonly OrderingKey[]): Promise<void> {
  const wanted = new Set(keys.map(nameOf)).size
  for (let locked = 0; locked < wanted; ) {
    await tx.query({
      name: 'insert-ordering-keys',
      text: `insert into ordering_keys (environment, integration, user_id)
             select distinct * from unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id) order by 1, 2, 3
             on conflict do nothing`,
      values: columns(keys),
    })
    locked = await lockOrderingKeys(tx, keys)
  }
}

// In two statements: the second one sees the deliveries of every transaction that had the key before. A key that another transaction has is
// in use. The list of a user's deliveries has an index, the list of an ordering key's open ones only.
const LOCK_UNUSED = `
  select k.environment, k.integration, k.user_id as "user" from unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id)
  join ordering_keys k on k.environment = w.environment and k.integration = w.integration and k.user_id = w.user_id
  order by k.environment, k.integration, k.user_id for update of k skip locked`
const DELETE_UNUSED = `
  delete from ordering_keys k using unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id)
  where k.environment = w.environment and k.integration = w.integration and k.user_id = w.user_id
    and (select v.number from deliveries v where v.environment = w.environment and v.user_id = w.user_id and v.integration = w.integration
      and v.source = 'event' limit 1) is null`

/** Deletes those of the keys that no delivery has. */
export async function deleteUnusedKeys(tx: Tx, keys: readonly OrderingKey[]): Promise<void> {
  if (keys.length === 0) return
  const { rows } = await tx.query<OrderingKey>(LOCK_UNUSED, columns(keys))
  if (rows.length > 0) await tx.query(DELETE_UNUSED, columns(rows))
}

/** The ordering keys without an open delivery. The keys are locked. */
export async function idleOrderingKeys(tx: Tx, keys: readonly OrderingKey[]): Promise<OrderingKey[]> {
  if (keys.length === 0) return []
  const { rows } = await tx.query<OrderingKey>({
    name: 'idle-ordering-keys',
    text: `select environment, integration, user_id as user from unnest($1::int[], $2::int[], $3::text[]) w(environment, integration, user_id)
           where (select v.number from deliveries v where v.integration = w.integration and v.user_id = w.user_id
             and v.status in ('pending', 'retrying') and v.source = 'event' limit 1) is null`,
    values: columns(keys),
  })
  return rows
}

const NEXT = insertJobs({
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
})

/** Inserts a job, due now, for the next delivery of each ordering key. An earlier statement has ended the heads. The keys are locked. */
export async function scheduleNext(tx: Tx, keys: readonly OrderingKey[]): Promise<void> {
  if (keys.length === 0) return
  const { rowCount } = await tx.query({ name: 'schedule-next-deliveries', text: NEXT, values: columns(keys) })
  if (rowCount !== 0) announceJobs(tx, DELIVERY_DUE)
}
