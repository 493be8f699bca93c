import type { Db } from '../connect.ts'
import { MIGRATIONS_TABLE } from '../migrate.ts'
import { inReferenceOrder, type Reference } from './order.ts'

/** A table of the product and the columns that are stored rather than derived. */
export type Table = { name: string; columns: string[] }
/** `next`: what it gives out next, as text (it may exceed 2^53). */
export type Sequence = { name: string; next: string }

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** True once a project was made: everything else hangs on one. */
export async function hasProjects(db: Db): Promise<boolean> {
  const there = await db.query<{ there: boolean }>(`select to_regclass('public.projects') is not null as there`)
  if (!there.rows[0]!.there) return false
  return (await db.query('select 1 from projects limit 1')).rowCount === 1
}

/** Every table of schema public, parents before children. Partitions go with their parent; what an extension brought is its own. */
export async function productTables(db: Db): Promise<Table[]> {
  const { rows: tables } = await db.query<Table>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and c.relpersistence = 'p' and not c.relispartition and c.relname <> $1
       and not exists (select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
     group by c.relname`,
    [MIGRATIONS_TABLE],
  )
  const { rows: references } = await db.query<Reference>(
    `select distinct child.relname as child, parent.relname as parent
     from pg_constraint f join pg_class child on child.oid = f.conrelid join pg_class parent on parent.oid = f.confrelid
     where f.contype = 'f' and f.connamespace = 'public'::regnamespace`,
  )
  const byName = new Map(tables.map(table => [table.name, table]))
  return inReferenceOrder([...byName.keys()], references).map(name => byName.get(name)!)
}

/** Sequences are outside of snapshots: read after one was taken they are at least as far as any row in it. */
export async function productSequences(db: Db): Promise<Sequence[]> {
  const { rows } = await db.query<Sequence>(
    `select sequencename as name, coalesce(last_value + increment_by, start_value)::text as next
     from pg_sequences where schemaname = 'public' order by sequencename`,
  )
  return rows
}
