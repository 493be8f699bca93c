import type { Pool } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { FACT_TABLES, type StoredTable } from '../facts/tables.ts'

/** Rows that only the facts that are read have (`former`), or only those that were built (`rebuilt`); `users`: some of those whom they concern. */
export type TableDifference = { table: string; former: number; rebuilt: number; users: number[] }

const SHOWN = 20

/** The rows without what differs between two folds of the same truth. */
const rowsOf = ({ name, isTombstone }: StoredTable, generation: string) =>
  `select f.user_no, (to_jsonb(f) - '{generation,id,seq}'::text[])::text as row from ${name} f
   where f.environment = $1 and f.generation = s.${generation} and not (${isTombstone})`

const comparison = (table: StoredTable) => `
  select count(*) filter (where side = 1)::float8 as former, count(*) filter (where side = 2)::float8 as rebuilt,
    (array_agg(distinct user_no))[1:${SHOWN}] as users
  from fact_state s cross join lateral (
    select 1 as side, a.user_no from (${rowsOf(table, 'generation')} except all ${rowsOf(table, 'building')}) a
    union all
    select 2, b.user_no from (${rowsOf(table, 'building')} except all ${rowsOf(table, 'generation')}) b) d
  where s.environment = $1 and s.building is not null`

/** Compares the generation that is read with the one that was built, as sets with repetition. Equal tables are left out. */
export async function compareGenerations(pool: Pool, environment: Environment): Promise<TableDifference[]> {
  const tx = await pool.connect()
  try {
    // One snapshot: live folds write both generations in one transaction.
    await tx.query('begin isolation level repeatable read read only')
    await tx.query('set local statement_timeout = 0')
    const differences: TableDifference[] = []
    for (const table of FACT_TABLES) {
      const { rows } = await tx.query<Omit<TableDifference, 'table'>>(comparison(table), [environment])
      const { former, rebuilt, users } = rows[0]!
      if (former + rebuilt > 0) differences.push({ table: table.name, former, rebuilt, users: users.map(Number) })
    }
    return differences
  } finally {
    await tx.query('rollback').catch(() => {})
    tx.release()
  }
}
