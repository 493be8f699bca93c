import type { Db } from './connect.ts'

/** A smaller table needs no statistics: reading all of it costs less than a millisecond. */
const SMALLEST_PAGES = 100

// What is left after a crash of the server: the size of a table, the size at its last vacuum or analyze, and its columns' statistics. The
// counters of autovacuum are lost: it analyzes a table when as many rows again have changed.
const GROWN = `
select quote_ident(c.relname) as name from pg_class c
where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
  and pg_relation_size(c.oid) >= 8192::bigint * ${SMALLEST_PAGES}
  and (pg_relation_size(c.oid) > 2 * 8192::bigint * c.relpages
    or not exists (select from pg_stats s where s.schemaname = 'public' and s.tablename = c.relname))
order by pg_relation_size(c.oid)`

/**
 * Analyzes the tables that have no statistics, or have grown to more than twice the size at their last statistics; returns their names.
 * Tables that another session analyzes or vacuums at the moment are skipped.
 */
export async function analyzeGrown(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(GROWN)
  for (const { name } of rows) await db.query(`analyze (skip_locked) ${name}`)
  return rows.map(({ name }) => name)
}
