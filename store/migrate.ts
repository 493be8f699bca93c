import { type ApplyOptions, applyAll, applyMigration } from './apply-migration.ts'
import { connect, type Db, type Pool } from './connect.ts'
import { leaveSharedMigrationLock, takeMigrationLock } from './migration-lock.ts'
import {
  type AppliedMigration,
  appliedMigrations,
  knownMigrations,
  knownNames,
  relationOf,
  requireKnown,
  SchemaRefused,
} from './schema-history.ts'

/** The oldest Postgres that the project supports has `nulls not distinct`, which the schema needs. As `server_version_num`. */
const OLDEST_SERVER = 150_000

/** @throws SchemaRefused for a Postgres that is too old. */
async function requireServer(db: Db): Promise<void> {
  const { rows } = await db.query<{ number: number; version: string }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  )
  const { number, version } = rows[0]!
  if (number < OLDEST_SERVER)
    throw new SchemaRefused(`Postgres ${OLDEST_SERVER / 10_000} or later is needed: DATABASE_URL names Postgres ${version}`)
}

/**
 * Brings the database to the newest version. One advisory lock is held for all migrations, so that any number of processes may start at once. A
 * database that lacks nothing is looked at under the shared lock, which a backup holds for as long as it takes: no start waits for a backup then.
 * An empty database gets all of them in one transaction. Otherwise older processes may be at work: each migration has a transaction of its own
 * and waits for no lock for long, or runs outside of transactions.
 * @throws SchemaRefused for a Postgres that is too old, and when a later program, an unreleased one or another product made the schema.
 * An abort of `options.signal` ends a wait with an AbortError.
 */
export async function migrate(url: string, options: ApplyOptions = {}): Promise<{ applied: number }> {
  // No statement time-out: building an index on a large table may take longer.
  const pool = connect({ url, max: 1, name: 'perennial-migrate', statementTimeoutMs: 0 })
  try {
    return await migrateWith(pool, options)
  } finally {
    await pool.end()
  }
}

async function migrateWith(pool: Pool, options: ApplyOptions): Promise<{ applied: number }> {
  const db = await pool.connect()
  try {
    await requireServer(db)
    const known = await knownMigrations()
    const applied = async (): Promise<AppliedMigration[]> => {
      const history = await appliedMigrations(db)
      requireKnown(history, known, 'start the newer program that made it')
      return history
    }
    let isTold = false
    const take = (mode: 'exclusive' | 'shared') =>
      takeMigrationLock(db, mode, options.signal, () => {
        if (!isTold) options.log?.('waits for its turn to migrate the database')
        isTold = true
      })
    await take('shared')
    if ((await applied()).length === known.length) return { applied: 0 }
    // Two processes that both kept the shared lock would wait for each other. In between another one may migrate: what is missing is read again.
    await leaveSharedMigrationLock(db)
    await take('exclusive')
    const history = await applied()
    const missing = known.slice(history.length)
    if (history.length === 0) await applyAll(db, missing)
    else
      for (const migration of missing) {
        options.log?.(`migrating the database: ${migration.name}`)
        await applyMigration(db, migration, options)
      }
    return { applied: missing.length }
  } finally {
    db.release(true)
  }
}

/** Whether the schema has all migrations of this program (readiness). A later program may have added more. */
export const isMigrated = async (pool: Pool): Promise<boolean> => relationOf(await knownNames(), await appliedMigrations(pool)) === 'older'
