import { readdir, readFile } from 'node:fs/promises'
import { connect, type Pool } from './connect.ts'

const FOLDER = new URL('./migrations/', import.meta.url)
/** Any constant will do, as long as every version uses the same one. */
const MIGRATION_LOCK = 7_301_994

export class DatabaseTooNew extends Error {}

type Migration = { version: number; name: string; sql: string }

/** All migrations that this version of the program knows, in order. */
export async function knownMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter(name => name.endsWith('.sql')).sort()
  return Promise.all(
    names.map(async name => ({ version: Number(name.slice(0, 3)), name, sql: await readFile(new URL(name, FOLDER), 'utf8') })),
  )
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
    await db.query(
      `create table if not exists migrations (version int primary key, name text not null, applied_at timestamptz not null default now())`,
    )
    const done = new Set((await db.query<{ version: number }>('select version from migrations')).rows.map(row => row.version))
    const known = await knownMigrations()
    const newest = Math.max(...known.map(m => m.version))
    const ahead = [...done].filter(version => version > newest)
    if (ahead.length > 0) {
      throw new DatabaseTooNew(
        `the database is at version ${Math.max(...ahead)}, this program knows version ${newest}: start the newer program that made it`,
      )
    }
    const open = known.filter(m => !done.has(m.version))
    for (const { version, name, sql } of open) {
      await db.query('begin')
      try {
        await db.query(sql)
        await db.query('insert into migrations (version, name) values ($1, $2)', [version, name])
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

/** Whether the schema is the one that this program was written for (readiness). */
export async function isMigrated(pool: Pool): Promise<boolean> {
  const known = await knownMigrations()
  const { rows } = await pool.query<{ n: number }>('select count(*)::int n from migrations')
  return (rows[0]?.n ?? 0) >= known.length
}
