import type { Pool } from '../../../store/connect.ts'
import { FACT_TABLES, type StoredTable } from './tables.ts'

/** A reader of differences that was away for longer begins anew. */
const KEPT_DAYS = 7

const NOTE_DAY = `insert into fact_days (environment, day, seq) select environment, current_date, seq from fact_state s
  where not exists (select 1 from fact_days where environment = s.environment and day = current_date) on conflict do nothing`
// Before the tombstones go: a reader sees in one snapshot that they may be gone.
const RAISE = `with due as materialized (
    select o.environment, d.seq from fact_state o cross join lateral (
      select seq from fact_days where environment = o.environment and day <= current_date - ${KEPT_DAYS} order by day desc limit 1) d
    where d.seq > o.pruned_seq order by o.environment for update of o
  )
  update fact_state s set pruned_seq = due.seq from due where s.environment = due.environment`
const FORGET_DAYS = `delete from fact_days where day < current_date - ${KEPT_DAYS} - 1`

const dropFrom = ({ name, key, isTombstone }: Omit<StoredTable, 'vocabularyColumns'>, ofGeneration: string) => `with old as materialized (
    select s.environment, s.generation, t.${key} from fact_state s cross join lateral (
      select ${key} from ${name} t where t.environment = s.environment ${ofGeneration} and ${isTombstone} and t.seq <= s.pruned_seq
      order by t.seq limit $1) t limit $1
  )
  delete from ${name} t using old s where t.environment = s.environment ${ofGeneration} and t.${key} = s.${key}`
const DROPS = [
  ...FACT_TABLES.map(table => dropFrom(table, 'and t.generation = s.generation')),
  dropFrom({ name: 'fact_words', key: 'no', isTombstone: 'word is null' }, ''),
]

const dropGenerations = ({ name, key }: StoredTable) => `with old as materialized (
    select s.environment, t.generation, t.${key} from fact_state s cross join lateral (
      select generation, ${key} from ${name} where environment = s.environment and generation < s.generation order by generation, ${key} limit $1) t
    limit $1
  )
  delete from ${name} t using old o where t.environment = o.environment and t.generation = o.generation and t.${key} = o.${key}`
const DROP_GENERATIONS = FACT_TABLES.map(dropGenerations)

/** Removes the facts of generations before the one that is read, at most `batch` rows of each table. */
export async function dropOldGenerations(pool: Pool, batch: number): Promise<number> {
  let dropped = 0
  for (const text of DROP_GENERATIONS) dropped += (await pool.query(text, [batch])).rowCount ?? 0
  return dropped
}

/** Removes tombstones of facts and words that are at least seven days old, at most `batch` of each table. */
export async function dropTombstones(pool: Pool, batch: number): Promise<number> {
  for (const statement of [NOTE_DAY, RAISE, FORGET_DAYS]) await pool.query(statement)
  let dropped = 0
  for (const text of DROPS) dropped += (await pool.query(text, [batch])).rowCount ?? 0
  return dropped
}
