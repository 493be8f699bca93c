import { readdir, readFile } from 'node:fs/promises'
import type { Db } from './connect.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
/** The migrations that a database has seen. A dump leaves the table out; a restore fills it by applying the migrations. */
export const MIGRATIONS_TABLE = 'migrations'

/** The program cannot work with the schema of the database. The message is the line to print before exit 1. */
export class SchemaRefused extends Error {}

/** One entry of a schema's history. `version`: the number that `name`, a file name, begins with. */
export type AppliedMigration = { version: number; name: string }
export type Migration = AppliedMigration & { sql: string }

/** The names of all migrations of this version of the program, in order. */
export async function knownNames(): Promise<AppliedMigration[]> {
  const names = (await readdir(FOLDER)).filter(name => name.endsWith('.sql')).sort()
  return names.map(name => ({ version: Number(name.slice(0, 3)), name }))
}

/** All migrations of this version of the program, in order. */
export const knownMigrations = async (): Promise<Migration[]> =>
  Promise.all((await knownNames()).map(async known => ({ ...known, sql: await readFile(new URL(known.name, FOLDER), 'utf8') })))

/** The version that a history ends with; 0 for an empty one. */
export const newestOf = (history: readonly AppliedMigration[]): number => history.at(-1)?.version ?? 0

/** `older` or the same: the program applies the rest. `newer`: a later program continued the history. `foreign`: it is another history. */
export type Relation = 'older' | 'newer' | 'foreign'

const isSame = (a: AppliedMigration, b: AppliedMigration | undefined) => a.version === b?.version && a.name === b.name

/** Compares two histories by version and name: `history` is `older` than `known` when it is a prefix of `known`. */
export function relationOf(history: readonly AppliedMigration[], known: readonly AppliedMigration[]): Relation {
  const [shorter, longer] = history.length <= known.length ? [history, known] : [known, history]
  if (!shorter.every((migration, n) => isSame(migration, longer[n]))) return 'foreign'
  return shorter === history ? 'older' : 'newer'
}

/**
 * The history of the database, in order; empty for a database without the table.
 * @throws SchemaRefused when a table of that name belongs to another program.
 */
export async function appliedMigrations(db: Db): Promise<AppliedMigration[]> {
  const { rows: columns } = await db.query<{ column: string }>(
    `select attname || ' ' || format_type(atttypid, null) as column from pg_attribute
     where attrelid = to_regclass('public.${MIGRATIONS_TABLE}') and attnum > 0`,
  )
  if (columns.length === 0) return []
  const found = columns.map(({ column }) => column)
  if (!found.includes('version integer') || !found.includes('name text'))
    throw new SchemaRefused(`the database belongs to another program (it has another table ${MIGRATIONS_TABLE}): ${USE_EMPTY}`)
  return (await db.query<AppliedMigration>(`select version, name from public.${MIGRATIONS_TABLE} order by version`)).rows
}

const USE_EMPTY = 'set DATABASE_URL to an empty database, or DATA_DIR to an empty folder'

/**
 * @throws SchemaRefused for a history that this program cannot continue. `useNewer`: the instruction for the operator when the schema is of
 * a newer program.
 */
export function requireKnown(history: readonly AppliedMigration[], known: readonly AppliedMigration[], useNewer: string): void {
  const relation = relationOf(history, known)
  if (relation === 'newer')
    throw new SchemaRefused(`the database is at version ${newestOf(history)}, this program knows version ${newestOf(known)}: ${useNewer}`)
  if (relation === 'foreign') {
    const unknown = history.find((migration, n) => !isSame(migration, known[n]))
    throw new SchemaRefused(`the database has the schema of an unreleased version of Perennial (migration ${unknown!.name}): ${USE_EMPTY}`)
  }
}
