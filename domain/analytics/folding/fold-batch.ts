import type { Db, Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { Environment } from '../../kernel/environment.ts'
import { settleOwners } from '../../purchases/subscriptions/posted-owners.ts'
import { lockUsers } from '../../users/user.ts'
import { foldUsers, type Unfoldable } from '../facts/fold-users.ts'
import { readHistories } from '../facts/read-histories.ts'
import { storeCustomers } from './store-customers.ts'

/** Users of one transaction. */
export const USERS_AT_ONCE = 500

type Marked = { no: number; id: string | null }

// Each step is a statement of its own: what is read after a lock must be read by a snapshot that is younger than the lock.
const OLDEST = 'select user_no as no from stale_users where environment = $1 and user_no % $3 = $4 order by since, user_no limit $2'
const NAMED = `select k.no, u.id from unnest($2::bigint[]) k(no)
  left join lateral (select id, environment from users where no = k.no limit 1) u on u.environment = $1`
// In the order in which every transaction locks users. A user whom another transaction has locked is marked again, or is being folded.
const LOCK_FREE = `select u.id from unnest($2::text[]) k(id) cross join lateral (
    select id from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1 for no key update skip locked) u`
// The users are locked or gone, so a mark that is found is not changed meanwhile; another fold may have deleted it.
const UNMARK = `delete from stale_users s using unnest($2::bigint[]) k(no) cross join lateral (
    select ctid as row_id from stale_users where environment = $1 and user_no >= k.no and user_no <= k.no order by user_no limit 1) t
  where s.ctid = t.row_id returning s.user_no as no, s.sums`
const SET_ASIDE = `insert into set_aside_users (environment, user_no, error) select $1, k.no, k.error from unnest($2::bigint[], $3::text[]) k(no, error)
  on conflict (environment, user_no) do update set error = excluded.error, set_aside_at = clock_timestamp()`
const TAKE_BACK = 'delete from set_aside_users where environment = $1 and user_no in (select unnest($2::bigint[]))'

async function lockMarked(tx: Tx, environment: Environment, marked: Marked[], waits: boolean): Promise<Marked[]> {
  const ids = marked.flatMap(({ id }) => id ?? []).sort()
  if (waits) {
    await lockUsers(tx, environment, [], ids)
    return marked
  }
  const { rows } = await tx.query<{ id: string }>({ name: 'lock-free-users', text: LOCK_FREE, values: [environment, ids] })
  const locked = new Set(rows.map(({ id }) => id))
  return marked.filter(({ id }) => id === null || locked.has(id))
}

/** Users that cannot be folded are kept with the reason, until a fold of them succeeds. */
export async function setUsersAside(tx: Tx, environment: Environment, folded: number[], failed: Unfoldable[]): Promise<void> {
  const { rowCount } = await tx.query({
    name: 'has-set-aside',
    text: 'select 1 from set_aside_users where environment = $1 limit 1',
    values: [environment],
  })
  if (rowCount) await tx.query({ name: 'take-back-users', text: TAKE_BACK, values: [environment, folded] })
  if (failed.length > 0)
    await tx.query({
      name: 'set-aside-users',
      text: SET_ASIDE,
      values: [environment, failed.map(({ no }) => no), failed.map(({ error }) => error)],
    })
}

/** `folded`: the number of users; `skipped`: users that another transaction had locked; `isFull`: there may be more marks. */
export type FoldedBatch = { folded: number; skipped: number; isFull: boolean; failed: Unfoldable[] }

/** One of `of` parts of an environment's users, which are folded beside each other. */
type Part = { part: number; of: number }
const WHOLE: Part = { part: 0, of: 1 }

/** Folds the users of the oldest marks. `waits`: also for users that another transaction has locked. */
export async function foldMarked(
  tx: Tx,
  environment: Environment,
  limit: number,
  waits: boolean,
  { part, of }: Part = WHOLE,
): Promise<FoldedBatch> {
  const { rows: oldest } = await tx.query<{ no: number }>({ name: 'oldest-marks', text: OLDEST, values: [environment, limit, of, part] })
  const numbers = oldest.map(({ no }) => no)
  const { folded, failed } = await foldNumbers(tx, environment, numbers, waits)
  return { folded, skipped: numbers.length - folded, isFull: oldest.length === limit, failed }
}

/** Folds marked users: what is stored with the customer where the mark says so, and the facts. Both from one read of the history. */
async function foldNumbers(
  tx: Tx,
  environment: Environment,
  numbers: number[],
  waits: boolean,
): Promise<Pick<FoldedBatch, 'folded' | 'failed'>> {
  if (numbers.length === 0) return { folded: 0, failed: [] }
  const { rows: marked } = await tx.query<Marked>({ name: 'marked-users', text: NAMED, values: [environment, numbers] })
  const lockedUsers = await lockMarked(tx, environment, marked, waits)
  if (lockedUsers.length === 0) return { folded: 0, failed: [] }
  await settleOwners(
    tx,
    environment,
    lockedUsers.flatMap(({ id }) => id ?? []),
  )
  const locked = lockedUsers.map(({ no }) => no)
  const unmark = { name: 'unmark-users', text: UNMARK, values: [environment, locked] }
  const { rows: unmarked } = await tx.query<{ no: number; sums: boolean }>(unmark)
  const stored = new Set(unmarked.flatMap(({ no, sums }) => (sums ? [no] : [])))
  const histories = await readHistories(tx, environment, locked)
  const storing = storeCustomers(
    tx,
    environment,
    histories.filter(({ user }) => stored.has(user.no)),
  )
  const failed = await foldUsers(tx, environment, locked, histories, storing)
  await setUsersAside(tx, environment, locked, failed)
  return { folded: locked.length, failed }
}

/** Folds the users of the oldest marks, in one transaction. Users that another transaction has locked are left for later. */
export const foldBatch = (pool: Pool, environment: Environment, limit = USERS_AT_ONCE, part = WHOLE): Promise<FoldedBatch> =>
  transaction(pool, tx => foldMarked(tx, environment, limit, false, part))

/** In parallel, because one fold computes while another one waits for the database. */
const PARTS = 2

/** A batch of each part of the environment's users. */
export async function foldParts(pool: Pool, environment: Environment): Promise<FoldedBatch> {
  const parts = Array.from({ length: PARTS }, (_, part) => foldBatch(pool, environment, USERS_AT_ONCE, { part, of: PARTS }))
  // All folds have ended before the failure of one of them is thrown.
  await Promise.allSettled(parts)
  const batches = await Promise.all(parts)
  return {
    folded: batches.reduce((sum, { folded }) => sum + folded, 0),
    skipped: batches.reduce((sum, { skipped }) => sum + skipped, 0),
    isFull: batches.some(({ isFull }) => isFull),
    failed: batches.flatMap(({ failed }) => failed),
  }
}

// Ids as an ordered range: for an equality, every index of the environment looks as good to a plan that was made while it had no users.
const STALE = `select s.user_no as no from unnest($2::text[]) k(id)
  cross join lateral (select no from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1) u
  cross join lateral (
    select user_no, sums from stale_users where environment = $1 and user_no >= u.no and user_no <= u.no order by user_no limit 1) s
  where s.sums order by s.user_no`

async function staleAmong(db: Db, environment: Environment, users: readonly string[]): Promise<number[]> {
  const { rows } = await db.query<{ no: number }>({ name: 'stale-users', text: STALE, values: [environment, users] })
  return rows.map(({ no }) => no)
}

/** Folds those of the users whose stored subscriptions, status or sums are out of date, in the transaction that reads them afterwards. */
export async function foldUsersWithin(tx: Tx, environment: Environment, users: readonly string[]): Promise<void> {
  await foldNumbers(tx, environment, await staleAmong(tx, environment, users), true)
}

/** The same in a transaction of its own: a read after it is exact. `listing`: the pool that looks up whether there is anything to fold. */
export async function foldUsersFirst(pool: Pool, environment: Environment, users: readonly string[], listing: Db = pool): Promise<void> {
  const numbers = await staleAmong(listing, environment, users)
  if (numbers.length > 0) await transaction(pool, tx => foldNumbers(tx, environment, numbers, true))
}
