import { LOCK } from '../../../store/advisory-locks.ts'
import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { FOLD_VERSION, markStored } from '../../durable/marks/mark.ts'
import type { Environment } from '../../kernel/environment.ts'
import { settleOwners } from '../../purchases/subscriptions/posted-owners.ts'
import { lockUsers } from '../../users/user.ts'
import { foldHistories } from '../facts/fold-users.ts'
import { readHistories } from '../facts/read-histories.ts'
import { FACT_TABLES } from '../facts/tables.ts'
import { writeFacts } from '../facts/write.ts'
import { compareGenerations, type TableDifference } from './compare-generations.ts'
import { setUsersAside } from './fold-batch.ts'

// A rebuild folds every user into a generation that is not read yet (`building`), in the order of their numbers; `folded_to` is the last
// number. A live fold writes both generations for users up to `folded_to`, and only the former generation for the others, whom the rebuild
// has yet to reach. A step locks its users: so either the step reads what a live fold has seen, or the live fold sees that the step has
// passed the user. Readers change over in one statement.

/** Users of one transaction. */
const AT_ONCE = 500

const BEGIN = `update fact_state set building = coalesce(building, generation + 1), folded_to = coalesce(folded_to, 0) where environment = $1`
const STATE = 'select building, folded_to::float8 as "foldedTo" from fact_state where environment = $1'
const NEXT = 'select no, id from users where environment = $1 and no > $2 order by no limit $3'
const REACHED = 'update fact_state set folded_to = greatest(folded_to, $2) where environment = $1 and building = $3'

// The former facts of users, of whatever columns, in the generation that is built.
const KEEP = FACT_TABLES.map(({ name }) => ({
  name: `rebuild-keep-${name}`,
  text: `insert into ${name} overriding system value
    select (jsonb_populate_record(null::${name}, to_jsonb(f) || jsonb_build_object('generation', s.building))).* from fact_state s
    cross join lateral (
      select * from ${name} where environment = s.environment and generation = s.generation and user_no in (select unnest($2::bigint[])) offset 0) f
    where s.environment = $1 on conflict do nothing`,
}))

type State = { building: number | null; foldedTo: number | null }
/** `isTaken`: another process rebuilds the environment at this moment. `folded`: how many users were folded; 0: none are left. */
type Step = { isTaken: true } | { isTaken: false; folded: number }

async function stateOf(tx: Tx, environment: Environment): Promise<State | undefined> {
  return (await tx.query<State>({ name: 'rebuild-state', text: STATE, values: [environment] })).rows[0]
}

async function isFree(tx: Tx, environment: Environment): Promise<boolean> {
  const { rows } = await tx.query<{ got: boolean }>('select pg_try_advisory_xact_lock($1, $2) as got', [LOCK.rebuild, environment])
  return rows[0]!.got
}

/** Folds the next users into the generation that is built. Folding users again changes nothing. */
async function step(tx: Tx, environment: Environment, atOnce: number): Promise<Step> {
  if (!(await isFree(tx, environment))) return { isTaken: true }
  const state = await stateOf(tx, environment)
  if (!state || state.building === null) return { isTaken: false, folded: 0 }
  const { rows: users } = await tx.query<{ no: number; id: string }>({
    name: 'rebuild-next',
    text: NEXT,
    values: [environment, state.foldedTo, atOnce],
  })
  if (users.length === 0) return { isTaken: false, folded: 0 }
  const numbers = users.map(({ no }) => no)
  const ids = users.map(({ id }) => id)
  await lockUsers(tx, environment, [], ids)
  // Versions before 10 counted events of one lineage for each user with whom they were posted.
  await settleOwners(tx, environment, ids)
  const histories = await readHistories(tx, environment, numbers)
  // Versions before 9 left posted refunds of recorded purchases out of access and sums as well, which are stored when the user is folded next.
  const refunded = histories.filter(({ purchases }) => purchases.some(({ posted_back }) => posted_back.length > 0))
  await markStored(
    tx,
    environment,
    refunded.map(({ user }) => user.id),
  )
  const { folded, failed } = await foldHistories(histories)
  await writeFacts(tx, environment, state.building, folded)
  // One user who cannot be folded must not keep the others at the rules of an earlier version. The user's former facts stay until a fold succeeds.
  if (failed.length > 0) {
    const left = failed.map(({ no }) => no)
    for (const statement of KEEP) await tx.query({ ...statement, values: [environment, left] })
    await setUsersAside(tx, environment, [], failed)
  }
  await tx.query({ name: 'rebuild-reached', text: REACHED, values: [environment, Math.max(...numbers), state.building] })
  return { isTaken: false, folded: users.length }
}

const LOCK_STATE = 'select building, folded_to::float8 as "foldedTo" from fact_state where environment = $1 for update'
const IS_LEFT = 'select exists (select from users where environment = $1 and no > $2) as is_left'
const SWAP = `update fact_state set generation = building, building = null, folded_to = null, fold_version = ${FOLD_VERSION}, seq = seq + 1,
  words_checked_seq = -1
  where environment = $1 and building is not null`

/**
 * Lets readers see the generation that was built. False: users were created meanwhile. A fold of such a user holds the lock of the user and
 * then waits for this row, or has written before: this statement sees both.
 */
async function swap(tx: Tx, environment: Environment): Promise<boolean> {
  const { rows } = await tx.query<State>(LOCK_STATE, [environment])
  const { building = null, foldedTo = 0 } = rows[0] ?? {}
  if (building === null) return true
  const { rows: left } = await tx.query<{ is_left: boolean }>(IS_LEFT, [environment, foldedTo])
  if (left[0]!.is_left) return false
  await tx.query(SWAP, [environment])
  return true
}

/** `taken`: another process rebuilds this environment. `stopped`: the next rebuild continues from there. */
export type Rebuilt = { is: 'done'; users: number; differences: TableDifference[] } | { is: 'taken' } | { is: 'stopped'; users: number }

/** `atOnce`: users of one transaction. */
export type RebuildOptions = { isStopping: () => boolean; onProgress?: (users: number) => void; atOnce?: number }

/**
 * Computes all facts of an environment again beside those that are read, compares both, and lets readers see the new ones. An interrupted
 * rebuild continues where it was.
 */
export async function rebuildFacts(
  pool: Pool,
  environment: Environment,
  { isStopping, onProgress, atOnce = AT_ONCE }: RebuildOptions,
): Promise<Rebuilt> {
  await pool.query(BEGIN, [environment])
  let users = 0
  while (true) {
    if (isStopping()) return { is: 'stopped', users }
    const done = await transaction(pool, tx => step(tx, environment, atOnce))
    if (done.isTaken) return { is: 'taken' }
    users += done.folded
    onProgress?.(users)
    if (done.folded > 0) continue
    const differences = await compareGenerations(pool, environment)
    if (await transaction(pool, tx => swap(tx, environment))) return { is: 'done', users, differences }
  }
}

// An environment that a later version of the service has rebuilt is left alone.
const OUTDATED = `select environment from fact_state where fold_version < ${FOLD_VERSION} order by environment limit 1`

/** An environment whose facts were folded by the rules of an earlier version; null: there is none. */
export async function outdatedEnvironment(pool: Pool): Promise<Environment | null> {
  const { rows } = await pool.query<{ environment: Environment }>(OUTDATED)
  return rows[0]?.environment ?? null
}
