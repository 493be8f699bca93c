import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { LOCK_INGESTION_SHARED } from '../users/user.ts'
import type { EventInput } from './item.ts'
import { TRAIT_COLUMNS, type UserTraits } from './traits.ts'

export type FoundUser = UserTraits & { id: string; identity_id: string | null }
type StoredEvent = { id: string; event_id: string; name: string; user_id: string | null; happened_at: number; sent_at: number | null }

/**
 * The data that a batch refers to: `now` in µs by the environment's clock, the users by id and by identity, and the events that are stored
 * already.
 */
export type LookUp = {
  now: number
  /** How far the environment's clock runs ahead, in µs. */
  ahead: number
  users: Map<string, FoundUser>
  identities: Map<string, FoundUser>
  events: Map<string, StoredEvent>
}

// Each value is looked up alone, by the whole key of a unique index. With one condition (`= any`) or a plain join, the planner may read the
// whole environment instead as long as it has no statistics. It expects no more than one row in an environment then, so the condition is a range,
// of which only the index of the key has the order: a first batch of 1,000 after another one read a million events by another index.

const distinct = (values: (string | undefined)[]) => [...new Set(values.filter(value => value !== undefined))]

export async function findUsers(
  tx: Tx,
  environment: Environment,
  column: 'id' | 'identity_id',
  values: string[],
): Promise<Map<string, FoundUser>> {
  if (values.length === 0) return new Map()
  const { rows } = await tx.query<FoundUser>({
    name: `find-users-by-${column}`,
    text: `select u.id, u.identity_id, ${TRAIT_COLUMNS} from unnest($2::text[]) k(value)
           cross join lateral (select * from users where environment = $1 and ${column} >= k.value and ${column} <= k.value order by ${column} limit 1) u`,
    values: [environment, values],
  })
  return new Map(rows.map(row => [row[column]!, row]))
}

export async function lookUp(tx: Tx, environment: Environment, items: EventInput[]): Promise<LookUp> {
  // Events are read before users. A batch that commits in between has created its users too, so the user of an event that is found is also
  // found. In the other order, a repeated event could look like the event of another user. The join returns one row at least, with the time.
  const { rows } = await tx.query<StoredEvent & { now: number; ahead: number }>({
    name: 'find-events',
    text: `select (extract(epoch from n.now) * 1000000)::bigint as now, (extract(epoch from n.ahead) * 1000000)::bigint as ahead,
             e.id, e.event_id, e.name, e.user_id, e.sent_at, (extract(epoch from e.happened_at) * 1000000)::bigint as happened_at
           from (select environment_now($1) as now, (select clock_offset from environments where id = $1) as ahead, ${LOCK_INGESTION_SHARED}) n left join (
             select f.* from unnest($2::text[]) k(event_id)
             cross join lateral (
               select * from events where environment = $1 and event_id >= k.event_id and event_id <= k.event_id order by event_id limit 1) f
           ) e on true`,
    values: [environment, distinct(items.map(item => item.event_id))],
  })
  const events = new Map(rows.flatMap(row => (row.id === null ? [] : [[row.event_id, row]])))
  const users = await findUsers(tx, environment, 'id', distinct(items.map(item => item.customer_uid)))
  const identities = await findUsers(tx, environment, 'identity_id', distinct(items.map(item => item.identity_id)))
  return { now: rows[0]!.now, ahead: rows[0]!.ahead, users, identities, events }
}

/** The transactions that an event of the log has begun already: key -> id of the event. */
export async function findTransactions(tx: Tx, environment: Environment, keys: string[]): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map()
  const { rows } = await tx.query<{ key: string; id: string }>({
    name: 'find-transactions',
    text: `select e.transaction_key as key, e.id from unnest($2::text[]) k(key)
           cross join lateral (
             select * from events where environment = $1 and transaction_key >= k.key and transaction_key <= k.key order by transaction_key limit 1) e`,
    values: [environment, keys],
  })
  return new Map(rows.map(row => [row.key, row.id]))
}
