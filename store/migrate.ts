import { readdir, readFile } from 'node:fs/promises'
import { connect, type Db, type Pool, type Tx } from './connect.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
/** Whoever holds it keeps the schema as it is. Any constant will do, as long as every version uses the same one. */
export const MIGRATION_LOCK = 7_301_994
/** Kept by the migrations themselves: a dump leaves it out, a restore fills it by applying them. */
export const MIGRATIONS_TABLE = 'migrations'

export class DatabaseTooNew extends Error {}

export type Migration = { version: number; name: string; sql: string }

/** All migrations that this version of the program knows, in order. */
export async function knownMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async name => ({ version: Number(name.slice(0, 3)), name, sql: await readFile(new URL(name, FOLDER), 'utf8') })),
  )
}

/** Version of the newest migration that this program knows. */
export const programVersion = async (): Promise<number> => Math.max(...(await knownMigrations()).map(({ version }) => version))

/** Version of the newest migration that the database has seen; 0 for none. */
export async function schemaVersion(db: Db): Promise<number> {
  const there = await db.query<{ there: boolean }>(`select to_regclass('public.${MIGRATIONS_TABLE}') is not null as there`)
  if (!there.rows[0]!.there) return 0
  const { rows } = await db.query<{ version: number }>(`select coalesce(max(version), 0) as version from ${MIGRATIONS_TABLE}`)
  return rows[0]!.version
}

/** Applies them in the caller's transaction. */
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
 * Brings the database to the newest version: each migration in a transaction of its own, all under one advisory lock, so that
 * any number of processes may start at once. Throws DatabaseTooNew when a later program has been here before.
 */
export async function migrate(url: string): Promise<{ applied: number }> {
  // No statement time-out: building an index on a large table takes what it takes.
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
    await db.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    const version = await schemaVersion(db)
    const newest = await programVersion()
    if (version > newest) {
      throw new DatabaseTooNew(
        `the database is at version ${version}, this program knows version ${newest}: start the newer program that made it`,
      )
    }
    const open = (await knownMigrations()).filter(migration => migration.version > version)
    for (const migration of open) {
      await db.query('begin')
      try {
        await applyMigrations(db, [migration])
        await db.query('commit')
      } catch (error) {
        await db.query('rollback')
        throw error
      }
    }
    return { applied: open.length }
  } finally {
    db.release(true)
  }
}

/** Whether the schema is at least the one that this program was written for (readiness). */
export const isMigrated = async (pool: Pool): Promise<boolean> => (await schemaVersion(pool)) >= (await programVersion())
