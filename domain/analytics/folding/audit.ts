import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { FOLD_VERSION, mark, markGone } from '../../durable/marks/mark.ts'
import type { Environment } from '../../kernel/environment.ts'
import { lockUsers } from '../../users/user.ts'
import { differingUsers, loadBeside } from '../facts/compare.ts'
import { foldHistories, generationsOf } from '../facts/fold-users.ts'
import { readHistories } from '../facts/read-histories.ts'
import { FACT_TABLES } from '../facts/tables.ts'

// What a look costs, for 200 users: 200 rows of users by the index users_by_no to draw them, and up to 600 index entries to leave some out; then,
// of those compared, the rows that a fold reads: everything known of a user, and the user's facts. The statements are some fourteen for each
// environment of a drawn user. Facts of users who are gone cost one more statement: 200 rows of users, one row of each table of facts for each of
// them, and a look for the user of each row. Nothing of it grows with the number of users.

const LOOK_SECONDS = 60

// One statement, so only one worker has the look of a minute. A clock that was set back must not put off the next look.
// A worker that waited for another one's look reads a time after its own; only a look of much later was before the clock was set back.
const TAKE_LOOK = `insert into fact_audit (looked_at) values (clock_timestamp()) on conflict (one) do update set looked_at = excluded.looked_at
  where fact_audit.looked_at not between excluded.looked_at - interval '${LOOK_SECONDS} seconds' and excluded.looked_at + interval '${LOOK_SECONDS} seconds'`

// Over all environments, so that users are checked equally often, whatever their environment. A user after a gap of erased ones is drawn
// more often.
const ANY_NUMBER = '1 + floor(random() * h.highest)::bigint'
const RANDOM = `(select no as highest from users order by no desc limit 1) h
  cross join lateral (select ${ANY_NUMBER} as no, ${ANY_NUMBER} as position from generate_series(1, $1)) k
  cross join lateral (select environment, no from users where no >= k.no order by no limit 1) u`
const DRAW = `select distinct u.environment, u.no from ${RANDOM} order by 1, 2`

const NEXT_FACTS = FACT_TABLES.map(
  ({ name, isTombstone }) => `(select user_no as no, ${isTombstone} as is_gone from ${name}
    where environment = s.environment and generation = s.generation and user_no >= k.position order by user_no limit 1)`,
)
// The environment is that of a drawn user, the position another number: behind a gone user, the next one may be of another environment. An environment
// that has no user left is not drawn.
// One statement, so one snapshot: an erasure deletes the user and makes tombstones of the facts in one transaction.
const DRAW_GONE = `select distinct s.environment, f.no from ${RANDOM}
  cross join lateral (select environment, generation from fact_state where environment = u.environment limit 1) s
  cross join lateral (${NEXT_FACTS.join(' union all ')}) f
  where not f.is_gone and (select 1 from users where no = f.no and environment = s.environment) is null
    and (select 1 from stale_users where environment = s.environment and user_no = f.no) is null order by 1, 2`

// Facts of other rules than those of this process, and facts that are known to be out of date, are not compared.
const COMPARABLE = `select k.no from unnest($2::bigint[]) k(no)
  where (select fold_version from fact_state where environment = $1) = ${FOLD_VERSION}
    and (select 1 from stale_users where environment = $1 and user_no = k.no) is null
    and (select 1 from set_aside_users where environment = $1 and user_no = k.no) is null`

// A check that compared no user has no result: the result of the check before it stays.
const RECORD = `update fact_audit set drifted = case when $2::int > 0 then $1::int else drifted end,
  drifted_total = drifted_total + $1::int, compared_total = compared_total + $2::int`

type Drawn = { environment: Environment; no: number }
/** A user whose stored facts differ from a new fold. `no`: the number, which says nothing about the user. `id`: null: the user is gone. */
type Drifted = Drawn & { id: string | null }
type Compared = { compared: number; drifted: Drifted[] }

/** The transaction has one snapshot. */
async function compareAnew(tx: Tx, environment: Environment, numbers: number[]): Promise<Compared> {
  const { rows } = await tx.query<{ no: number }>({ name: 'comparable-users', text: COMPARABLE, values: [environment, numbers] })
  if (rows.length === 0) return { compared: 0, drifted: [] }
  const histories = await readHistories(
    tx,
    environment,
    rows.map(({ no }) => no),
  )
  const { folded, failed } = await foldHistories(histories)
  const { generation } = await generationsOf(tx, environment)
  const { compare } = await loadBeside(tx, environment, generation, folded)
  // A user who cannot be folded and is not set aside has facts that no fold has written.
  const differing = new Set([...differingUsers(await compare()), ...failed.map(({ no }) => no)])
  const users = histories.flatMap(({ user: { no, id } }) => (differing.has(no) ? [{ environment, no, id }] : []))
  return { compared: histories.length, drifted: users }
}

/** Marks the users that differ, and records the look: both or none. */
async function conclude(tx: Tx, compared: number, drifted: Drifted[]): Promise<void> {
  for (const [environment, users] of Map.groupBy(drifted, one => one.environment)) {
    const ids = users.flatMap(({ id }) => id ?? [])
    await lockUsers(tx, environment, [], ids)
    await mark(tx, environment, ids)
    const gone = users.flatMap(({ no, id }) => (id === null ? [no] : []))
    await markGone(tx, environment, gone)
  }
  await tx.query(RECORD, [drifted.length, compared])
}

export type AuditOptions = { pool: Pool; isStopping: () => boolean; users?: number }

/**
 * Folds up to `users` random users anew, compares with their stored facts, and marks those that differ. From as many random positions in each table
 * of facts it also looks for facts of users who are gone, and marks these users: of them, no fact must be left. Once a minute of all processes; null:
 * it is not yet time.
 *
 * No user is locked for that. Whoever changes the truth marks the user in the same transaction, and a fold removes the mark and writes the facts in
 * one transaction: in one snapshot, the facts of a user without a mark are those of the truth. A transaction that holds the lock of a user is not
 * in the snapshot.
 */
export async function auditFacts({ pool, isStopping, users = 200 }: AuditOptions): Promise<Compared | null> {
  if (!(await pool.query({ name: 'take-audit', text: TAKE_LOOK })).rowCount) return null
  const { rows } = await pool.query<Drawn>({ name: 'draw-users', text: DRAW, values: [users] })
  let compared = 0
  const drifted: Drifted[] = []
  for (const [environment, drawn] of Map.groupBy(rows, one => one.environment)) {
    if (isStopping()) break
    const numbers = drawn.map(({ no }) => no)
    const found = await transaction(pool, tx => compareAnew(tx, environment, numbers), undefined, 'repeatable read')
    compared += found.compared
    drifted.push(...found.drifted)
  }
  const { rows: gone } = await pool.query<Drawn>({ name: 'draw-gone-users', text: DRAW_GONE, values: [users] })
  compared += gone.length
  drifted.push(...gone.map(one => ({ ...one, id: null })))
  await transaction(pool, tx => conclude(tx, compared, drifted))
  return { compared, drifted }
}
