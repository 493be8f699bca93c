import { LOCK } from '../../../store/advisory-locks.ts'
import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import type { Environment } from '../../kernel/environment.ts'
import { WORDS_OF_ERASED } from './erased.ts'
import { FACT_TABLES, type StoredTable } from './tables.ts'
import { nextSeq } from './write.ts'

// A word is unused when neither a row of the environment, in any generation, nor a kept fact of an erased user has its number. To find that
// out all rows are read, without a lock for which others wait. A row that is written meanwhile has a seq beyond the one that was read
// before: such rows are read again while the state of the facts is locked. A transaction that writes a row later looks up its words under
// the same lock.

/** Rows of one statement: it takes less than a second, so no limit of time cuts it, and a process that stops does not wait for all rows. */
const ROWS_AT_ONCE = 100_000
/** Below every key. */
const BEFORE_ALL = -(2 ** 53)

const isAny = (rows: string) => `(select 1 from ${rows} limit 1) is not null`
const OLD = FACT_TABLES.map(({ name }) => isAny(`${name} where environment = s.environment and generation < s.generation`))
const GONE = FACT_TABLES.map(({ name, isTombstone }) =>
  isAny(`${name} where environment = s.environment and generation = s.generation and ${isTombstone} and seq > s.words_checked_seq`),
)
// At most once a day, and only where rows have become tombstones since. A rebuild leaves none: it sets words_checked_seq to -1, and the words wait
// until the former generation is removed.
const DUE = `from fact_state s
  cross join lateral (select seq from fact_days where environment = s.environment order by day desc limit 1) d
  where s.words_checked_seq < d.seq and (s.words_checked_seq < 0 or ${GONE.join(' or ')}) and not (${OLD.join(' or ')})`
const DUE_ENVIRONMENTS = `select s.environment ${DUE} order by s.environment`
const DUE_STATE = `select s.seq, s.generation ${DUE} and s.environment = $1`

const LOCK_CHECK = 'select pg_try_advisory_xact_lock($1, $2) as got'
const WORDS = 'select no from fact_words where environment = $1 and word is not null and seq <= $2'
const STATE = 'select seq, coalesce(building, generation) as newest from fact_state where environment = $1'
const BURY = 'update fact_words set word = null, seq = $2 where environment = $1 and no in (select unnest($3::int[]))'
// A generation that came meanwhile is still to be checked.
const CHECKED = 'update fact_state set words_checked_seq = $2 where environment = $1 and generation = $3'

/** The numbers of the words of rows. `last`: no key of the rows is greater than the greatest of these. */
const numbersIn = ({ key, vocabularyColumns }: StoredTable, rows: string) =>
  `select coalesce(${vocabularyColumns.join(', ')}) as no, max(${key}) as last from (${rows}) f group by grouping sets (${vocabularyColumns.map(word => `(${word})`).join(', ')})`
const columnsOf = ({ key, vocabularyColumns }: StoredTable) => [key, ...vocabularyColumns].join(', ')

const NEXT_ROWS = FACT_TABLES.map(table => ({
  name: `next-words-of-${table.name}`,
  text: numbersIn(
    table,
    `select ${columnsOf(table)} from ${table.name} where environment = $1 and generation = $2 and ${table.key} > $3
     order by ${table.key} limit ${ROWS_AT_ONCE}`,
  ),
}))
const ROWS_SINCE = FACT_TABLES.map(table => ({
  name: `new-words-of-${table.name}`,
  text: numbersIn(
    table,
    `select f.* from fact_state s cross join lateral generate_series(1, coalesce(s.building, s.generation)) g(generation)
     cross join lateral (
       select ${columnsOf(table)} from ${table.name} where environment = $1 and generation = g.generation and seq > $2 offset 0) f
     where s.environment = $1`,
  ),
}))

const OF_ERASED = `select w.no from erased_facts e cross join lateral unnest(array[${WORDS_OF_ERASED.map(word => `e.${word}`).join(', ')}]) w(no)
  where e.environment = $1 and w.no is not null group by w.no`

type Found = { no: number | null; last: number }

function removeUsed(unused: Set<number>, found: Pick<Found, 'no'>[]): void {
  for (const { no } of found) if (no !== null) unused.delete(no)
}

async function stateOf(tx: Tx, environment: Environment): Promise<{ seq: number; newest: number }> {
  return (await tx.query<{ seq: number; newest: number }>(STATE, [environment])).rows[0]!
}

/** Removes from the set the words that rows have. False: it was stopped before all rows were read. */
async function readAll(tx: Tx, environment: Environment, unused: Set<number>, isStopping: () => boolean): Promise<boolean> {
  const { newest } = await stateOf(tx, environment)
  for (let generation = 1; generation <= newest; generation++)
    for (const statement of NEXT_ROWS)
      for (let last = BEFORE_ALL; unused.size > 0; ) {
        if (isStopping()) return false
        const { rows } = await tx.query<Found>({ ...statement, values: [environment, generation, last] })
        if (rows.length === 0) break
        removeUsed(unused, rows)
        last = Math.max(...rows.map(row => row.last))
      }
  return true
}

async function readSince(tx: Tx, environment: Environment, unused: Set<number>, seq: number): Promise<void> {
  for (const statement of ROWS_SINCE) removeUsed(unused, (await tx.query<Found>({ ...statement, values: [environment, seq] })).rows)
}

async function removeFrom(tx: Tx, environment: Environment, batch: number, isStopping: () => boolean): Promise<number> {
  if (!(await tx.query<{ got: boolean }>(LOCK_CHECK, [LOCK.vocabulary, environment])).rows[0]!.got) return 0
  const [due] = (await tx.query<{ seq: number; generation: number }>(DUE_STATE, [environment])).rows
  if (!due) return 0
  const { rows: all } = await tx.query<{ no: number }>(WORDS, [environment, due.seq])
  const unused = new Set(all.map(({ no }) => no))
  if (!(await readAll(tx, environment, unused, isStopping))) return 0
  // A first pass without the lock, so that little is left to read under it.
  const { seq: later } = await stateOf(tx, environment)
  await readSince(tx, environment, unused, due.seq)
  if (unused.size > 0) {
    const seq = await nextSeq(tx, environment)
    await readSince(tx, environment, unused, later)
    // An erasure keeps facts and removes them under this lock.
    removeUsed(unused, (await tx.query<{ no: number }>(OF_ERASED, [environment])).rows)
    await tx.query(BURY, [environment, seq, [...unused].slice(0, batch)])
  }
  if (unused.size <= batch) await tx.query(CHECKED, [environment, due.seq, due.generation])
  return Math.min(unused.size, batch)
}

/**
 * Makes tombstones of the words that no fact has any more, at most `batch` of each environment. Of several processes one looks for them in an
 * environment. It reads all facts of the environment: 2.5 million rows take 3 to 5 s.
 */
export async function removeUnusedVocabulary(
  pool: Pool,
  batch: number,
  _environment: Environment | null,
  isStopping = () => false,
): Promise<number> {
  const { rows } = await pool.query<{ environment: Environment }>(DUE_ENVIRONMENTS)
  let removed = 0
  for (const { environment } of rows) {
    if (isStopping()) break
    removed += await transaction(pool, tx => removeFrom(tx, environment, batch, isStopping))
  }
  return removed
}
