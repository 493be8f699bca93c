import type { Db, Tx } from '../../../store/connect.ts'
import { notifyAfterCommit } from '../../../store/notify.ts'
import type { Environment } from '../../kernel/environment.ts'

// A mark records that the facts of a user may be out of date. A transaction that changes the source data of a user locks the user, writes,
// and inserts the mark; a fold locks the user before it deletes the mark and reads the source data. So a change that a fold does not see
// has a mark that the fold does not delete.

/** The version of the rules by which facts are folded (`factsOf`). Facts of another version are folded again. */
export const FOLD_VERSION = 10

/** Announces that users of an environment were marked. The payload is the environment. */
export const FACTS_CHANNEL = 'facts'

/** Notifies the workers after the commit, or at once where `db` is the pool, that users of the environment are marked. */
export const announceMarks = (db: Db, environment: Environment): void => notifyAfterCommit(db, FACTS_CHANNEL, String(environment))

// Each statement locks the row of the environment, as a foreign key would: a reset of the sandbox waits for a transaction that marks, and the other
// way round. Once and not for each mark: in a session that plans each statement anew, the check of a foreign key took two thirds of the time.
const HELD = 'with held as materialized (select id from environments where id = $1 for key share)'

// Ids and numbers as ordered ranges: for an equality, every index of the environment looks as good to a plan that was made while it had no users.
const NUMBERS = `unnest($2::text[]) k(id)
  cross join lateral (select no from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1) u`
const MARK = `${HELD} insert into stale_users (environment, user_no)
  select held.id, u.no from held cross join ${NUMBERS}
  order by u.no on conflict do nothing`

/** Marks users whose facts may be out of date when the transaction commits. The caller has locked the users. */
export async function mark(tx: Tx, environment: Environment, users: string[]): Promise<void> {
  if (users.length === 0) return
  await tx.query({ name: 'mark-users', text: MARK, values: [environment, users] })
  announceMarks(tx, environment)
}

const MARK_GONE = `${HELD} insert into stale_users (environment, user_no)
  select held.id, k.no from held cross join unnest($2::bigint[]) k(no) order by k.no on conflict do nothing`

/** Marks users who do not exist any more and still have facts. There is no user to lock, and no source data that could change. */
export async function markGone(tx: Tx, environment: Environment, numbers: number[]): Promise<void> {
  if (numbers.length === 0) return
  await tx.query({ name: 'mark-gone', text: MARK_GONE, values: [environment, numbers] })
  announceMarks(tx, environment)
}

// A mark that is there stays until a fold locks the user, which is locked here: writing it again would cost as much as an event.
const MARK_STORED = `${HELD} insert into stale_users (environment, user_no, sums)
  select held.id, u.no, true from held cross join ${NUMBERS}
  left join lateral (select sums from stale_users where environment = $1 and user_no >= u.no and user_no <= u.no order by user_no limit 1) m on true
  where m.sums is not true order by u.no on conflict (environment, user_no) do update set sums = true`

/**
 * Marks users whose subscriptions, status and sums are out of date, too: these are stored with the customer. Facts of these users were
 * posted, or a rate of exchange has changed. The caller has locked the users.
 */
export async function markStored(tx: Tx, environment: Environment, users: string[]): Promise<void> {
  if (users.length === 0) return
  await tx.query({ name: 'mark-stored', text: MARK_STORED, values: [environment, users] })
  announceMarks(tx, environment)
}

// A fold of the user may have deleted a mark and not committed yet. This statement waits for that fold; a statement that leaves an existing
// mark as it is would not wait.
const MARK_UNLOCKED = `${HELD} insert into stale_users (environment, user_no, sums)
  select held.id, u.no, true from held cross join ${NUMBERS} order by u.no on conflict (environment, user_no) do update set sums = true`

/** The same for users whom the caller has not locked, because another user's events have become theirs or are theirs no longer. */
export async function markUnlocked(tx: Tx, environment: Environment, users: string[]): Promise<void> {
  if (users.length === 0) return
  await tx.query({ name: 'mark-unlocked', text: MARK_UNLOCKED, values: [environment, users] })
  announceMarks(tx, environment)
}

const DAY_S = 86_400
const MARK_VIEWERS = `${HELD} insert into stale_users (environment, user_no)
  select distinct held.id, u.no from held cross join unnest($2::text[], $3::float8[]) k(id, at)
  cross join lateral (select no from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1) u
  cross join lateral (select generation from fact_state where environment = $1 limit 1) s
  cross join lateral (select 1 from transaction_facts f where f.environment = $1 and f.generation = s.generation
    and f.user_no >= u.no and f.user_no <= u.no and f.happened >= k.at and f.happened <= k.at + ${DAY_S} order by f.user_no limit 1) f
  order by 2 on conflict do nothing`

/**
 * Marks users who saw a screen at a time (Unix seconds), when one of their transactions happened within the day after it: the screen may have led
 * to the transaction. A transaction that is not folded yet has a mark of its own.
 */
export async function markViewers(tx: Tx, environment: Environment, seen: { user: string; at: number }[]): Promise<void> {
  if (seen.length === 0) return
  const values = [environment, seen.map(({ user }) => user), seen.map(({ at }) => at)]
  const { rowCount } = await tx.query({ name: 'mark-viewers', text: MARK_VIEWERS, values })
  if (rowCount) announceMarks(tx, environment)
}

/**
 * Part of a statement that inserts users: marks the rows of `inserted`, which returns their environment and number. `isStored`: for whom also what is
 * stored with the customer is out of date.
 */
export const markInserted = (inserted: string, isStored = 'false') => `insert into stale_users (environment, user_no, sums)
  select environment, no, ${isStored} from ${inserted} order by no on conflict do nothing`

/**
 * Part of `with recursive`: a row of `marked` for each environment in which users are marked, and one with null. From one environment to the next
 * by index: a backlog of one environment is not read.
 */
export const MARKED_ENVIRONMENTS = `marked as (
    (select environment from stale_users order by environment limit 1)
    union all
    select (select s.environment from stale_users s where s.environment > m.environment order by s.environment limit 1)
    from marked m where m.environment is not null
  )`

const MARKED = `with recursive ${MARKED_ENVIRONMENTS} select environment from marked where environment is not null`

/** The environments in which users are marked. */
export async function markedEnvironments(db: Db): Promise<Environment[]> {
  const { rows } = await db.query<{ environment: Environment }>({ name: 'marked-environments', text: MARKED })
  return rows.map(({ environment }) => environment)
}
