import type { Db } from '../connect.ts'
import { MIGRATIONS_TABLE } from '../schema-history.ts'

/** A table of the product and its stored columns. Generated columns are not among them. */
export type Table = { name: string; columns: string[] }
/** `next`: the next value of the sequence, as text (it may exceed 2^53). */
export type Sequence = { name: string; next: string }
/** `child` refers to `parent`. */
export type Reference = { child: string; parent: string }

/** The name as an SQL identifier, quoted. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Whether a project was ever created: every other row of the product belongs to a project. */
export async function hasProjects(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ exists: boolean }>(`select to_regclass('public.projects') is not null as exists`)
  if (!rows[0]!.exists) return false
  return (await db.query('select 1 from projects limit 1')).rowCount === 1
}

/** Every table of schema public, parents before children. A partition belongs to its parent, a table of an extension to the extension. */
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

/** The names in an order in which every row finds the rows that it refers to; by name where the references leave a choice. */
export function inReferenceOrder(names: string[], references: Reference[]): string[] {
  const parents = new Map(names.map(name => [name, new Set<string>()]))
  // A table may refer to itself: the constraint is checked when the whole table is loaded.
  for (const { child, parent } of references) if (child !== parent) parents.get(child)?.add(parent)
  const ordered: string[] = []
  while (parents.size > 0) {
    const free = [...parents.keys()].sort().filter(name => [...parents.get(name)!].every(parent => !parents.has(parent)))
    if (free.length === 0) throw new Error(`the tables ${[...parents.keys()].join(', ')} refer to each other in a circle`)
    for (const name of free) parents.delete(name)
    ordered.push(...free)
  }
  return ordered
}

/** A snapshot does not cover sequences: read after the snapshot, they are at least as far as any row in it. */
export async function productSequences(db: Db): Promise<Sequence[]> {
  const { rows } = await db.query<Sequence>(
    `select sequencename as name, coalesce(last_value + increment_by, start_value)::text as next
     from pg_sequences where schemaname = 'public' order by sequencename`,
  )
  return rows
}
