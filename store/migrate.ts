import { readdir, readFile } from 'node:fs/promises'
import { connect, type Db, type Pool, type Tx } from './connect.ts'
import { isRetryable } from './failures.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
/** Advisory lock: only its holder changes the schema. Any constant will do if every version of the program uses the same one. */
export const MIGRATION_LOCK = 7_301_994
/** The migrations that a database has seen. A dump leaves the table out; a restore fills it by applying the migrations. */
export const MIGRATIONS_TABLE = 'migrations'

/** The oldest Postgres that the project supports has `nulls not distinct`, which the schema needs. As `server_version_num`. */
const OLDEST_SERVER = 150_000

/** The program cannot work with the schema of the database. The message is the line to print before exit 1. */
export class SchemaRefused extends Error {}

/** One entry of a schema's history. `version`: the number that `name`, a file name, begins with. */
export type AppliedMigration = { version: number; name: string }
export type Migration = AppliedMigration & { sql: string }

/** The names of all migrations of this version of the program, in order. */
async function knownNames(): Promise<AppliedMigration[]> {
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

/** @throws SchemaRefused for a Postgres that is too old. */
async function requireServer(db: Db): Promise<void> {
  const { rows } = await db.query<{ number: number; version: string }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  )
  const { number, version } = rows[0]!
  if (number < OLDEST_SERVER)
    throw new SchemaRefused(`Postgres ${OLDEST_SERVER / 10_000} or later is needed: DATABASE_URL names Postgres ${version}`)
}

/** Applies the migrations in the caller's transaction. */
export async function applyMigrations(tx: Tx, migrations: Migration[]): Promise<void> {
  await tx.query(
    `create table if not exists ${MIGRATIONS_TABLE} (version int primary key, name text not null, applied_at timestamptz not null default now())`,
  )
  for (const { version, name, sql } of migrations) {
    await tx.query(sql)
    await tx.query(`insert into ${MIGRATIONS_TABLE} (version, name) values ($1, $2)`, [version, name])
  }
}

/**
 * Brings the database to the newest version. Each migration has a transaction of its own, and one advisory lock is held for all of them,
 * so that any number of processes may start at once.
 * @throws SchemaRefused for a Postgres that is too old, and when a later program, an unreleased one or another product made the schema.
 */
export async function migrate(url: string): Promise<{ applied: number }> {
  // No statement time-out: building an index on a large table may take longer.
  const pool = connect({ url, max: 1, name: 'perennial-migrate', statementTimeoutMs: 0 })
  try {
    return await migrateWith(pool)
  } finally {
    await pool.end()
  }
}

async function migrateWith(pool: Pool): Promise<{ applied: number }> {
  const db = await pool.connect()
  try {
    await requireServer(db)
    await db.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const known = await knownMigrations()
    const history = await appliedMigrations(db)
    requireKnown(history, known, 'start the newer program that made it')
    const missing = known.slice(history.length)
    for (const migration of missing) await applyMigration(db, migration)
    return { applied: missing.length }
  } finally {
    db.release(true)
  }
}

const TRIES = 5

/**
 * Applies one migration in a transaction of its own. It locks tables in another order than the transactions of processes that continue meanwhile,
 * so a deadlock may end it; then it begins again.
 */
export async function applyMigration(db: Tx, migration: Migration): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await db.query('begin')
    try {
      await applyMigrations(db, [migration])
      await db.query('commit')
      return
    } catch (error) {
      await db.query('rollback')
      if (attempt === TRIES || !isRetryable(error)) throw error
    }
  }
}

/** Whether the schema has all migrations of this program (readiness). A later program may have added more. */
export const isMigrated = async (pool: Pool): Promise<boolean> => relationOf(await knownNames(), await appliedMigrations(pool)) === 'older'
