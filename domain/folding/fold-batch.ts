import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { recount } from '../customers/recount.ts'
import type { Environment } from '../environment.ts'
import { foldUsers, type Unfoldable } from '../facts/fold-users.ts'
import { lockUsers } from '../users/user.ts'

/** Users of one transaction. */
const AT_ONCE = 500

type Marked = { no: number; id: string | null }

// Each step is a statement of its own: what is read after a lock must be read by a snapshot that is younger than the lock.
const OLDEST = 'select user_no as no from stale_users where environment = $1 order by since, user_no limit $2'
const NAMED = `select k.no, u.id from unnest($2::bigint[]) k(no)
  left join lateral (select id from users where no = k.no and environment = $1 limit 1) u on true`
// In the order in which every transaction locks users. A user whom another transaction has locked is marked again, or is being folded.
const LOCK_FREE = `select u.id from unnest($2::text[]) k(id) cross join lateral (
    select id from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1 for no key update skip locked) u`
const UNMARK = `delete from stale_users where environment = $1 and user_no in (select unnest($2::bigint[])) returning user_no as no, sums`
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
async function setAside(tx: Tx, environment: Environment, folded: number[], failed: Unfoldable[]): Promise<void> {
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

/** `folded`: how many users; `isFull`: there may be more marks. */
export type FoldedBatch = { folded: number; isFull: boolean; failed: Unfoldable[] }

async function foldMarked(tx: Tx, environment: Environment, limit: number, waits: boolean): Promise<FoldedBatch> {
  const { rows: oldest } = await tx.query<{ no: number }>({ name: 'oldest-marks', text: OLDEST, values: [environment, limit] })
  if (oldest.length === 0) return { folded: 0, isFull: false, failed: [] }
  const { rows: marked } = await tx.query<Marked>({ name: 'marked-users', text: NAMED, values: [environment, oldest.map(({ no }) => no)] })
  const locked = (await lockMarked(tx, environment, marked, waits)).map(({ no }) => no)
  if (locked.length === 0) return { folded: 0, isFull: false, failed: [] }
  const unmark = { name: 'unmark-users', text: UNMARK, values: [environment, locked] }
  const { rows: unmarked } = await tx.query<{ no: number; sums: boolean }>(unmark)
  const summed = new Set(unmarked.flatMap(({ no, sums }) => (sums ? [no] : [])))
  const users = marked.flatMap(({ no, id }) => (id !== null && summed.has(no) ? [id] : []))
  if (users.length > 0) await recount(tx, environment, users)
  const failed = await foldUsers(tx, environment, locked)
  await setAside(tx, environment, locked, failed)
  return { folded: locked.length, isFull: oldest.length === limit, failed }
}

/** Folds the users of the oldest marks, in one transaction. Users that somebody else has locked are left for later. */
export const foldBatch = (pool: Pool, environment: Environment, limit = AT_ONCE): Promise<FoldedBatch> =>
  transaction(pool, tx => foldMarked(tx, environment, limit, false))

/** Folds up to `limit` marked users, and waits for those that somebody else folds at this moment. True: no mark is left that was there before. */
export async function drainMarks(pool: Pool, environment: Environment, limit: number): Promise<boolean> {
  const { rowCount } = await pool.query({
    name: 'has-marks',
    text: 'select 1 from stale_users where environment = $1 limit 1',
    values: [environment],
  })
  if (!rowCount) return true
  for (let left = limit; left > 0; ) {
    const most = Math.min(left, AT_ONCE)
    const { folded, isFull } = await transaction(pool, tx => foldMarked(tx, environment, most, true))
    if (!isFull) return true
    left -= folded
  }
  return false
}
