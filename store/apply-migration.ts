import { setTimeout as delay } from 'node:timers/promises'
import type { Tx } from './connect.ts'
import { isLockTimeout, isRetryable } from './failures.ts'
import { MIGRATIONS_TABLE, type Migration, SchemaRefused } from './schema-history.ts'
import { statementsOf } from './sql-statements.ts'

/**
 * Whoever waits for a lock on a table makes everybody wait who comes later and wants to read the table: older processes still serve requests.
 * So a migration gives up soon, lets the others pass, and tries again.
 */
const LOCK_MS = 500
const PATIENCE_MS = 600_000
/**
 * Autovacuum ends its work on a table for whoever has waited for it for `deadlock_timeout`, by default a second: longer than a migration waits. So a
 * migration that got no lock asks in a mode for which no reader and no writer waits, and then tries again. A vacuum of a large table takes longer
 * than all the patience.
 */
const AUTOVACUUM_MS = 3_000
/** So much of one attempt counts as a wait: an index may be built for an hour before it meets a deadlock. */
const MOST_OF_ATTEMPT_MS = 10_000
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 2_000]
/**
 * Deadlocks with older processes, which lock tables in another order. What is built concurrently has no such limit: a process of 0.1.0 that starts
 * meanwhile waits for the migration in a statement, whose snapshot the build waits for.
 */
const DEADLOCKS = 5

/**
 * `lockMs`: for each lock; 0 waits as long as it takes. `patienceMs`: for all attempts of a migration that fail. `signal`: ends the waits, with an
 * AbortError.
 */
export type ApplyOptions = { log?: (message: string) => void; lockMs?: number; patienceMs?: number; signal?: AbortSignal }

/** Whether the statements run one by one and outside a transaction, while the tables are in use. Its first line says so. */
const isOnline = ({ sql }: Migration): boolean => /^-- online\b/.test(sql)

const CONCURRENTLY = /\b(create (?:unique )?index|drop index) concurrently\b/gi
const ALTERED = /\balter table (?:if exists )?(?:only )?(?:public\.)?"?(\w+)/gi
const NEW_INDEX = /^create (?:unique )?index concurrently (?:if not exists )?"?(\w+)"? on\b/i

const recorded = (db: Tx, { version, name }: Migration) =>
  db.query(`insert into ${MIGRATIONS_TABLE} (version, name) values ($1, $2)`, [version, name])

/** Applies the migrations in the caller's transaction: to an empty database, or to one that nobody else uses. */
export async function applyMigrations(tx: Tx, migrations: Migration[]): Promise<void> {
  await tx.query(
    `create table if not exists ${MIGRATIONS_TABLE} (version int primary key, name text not null, applied_at timestamptz not null default now())`,
  )
  for (const migration of migrations) {
    // Nothing runs concurrently inside a transaction.
    await tx.query(isOnline(migration) ? migration.sql.replaceAll(CONCURRENTLY, '$1') : migration.sql)
    await recorded(tx, migration)
  }
}

/** Applies migrations to a database without a schema, all of them or none. */
export const applyAll = (db: Tx, migrations: Migration[]): Promise<void> => inTransaction(db, () => applyMigrations(db, migrations))

/**
 * Applies one migration while older processes use the tables.
 * @throws SchemaRefused when another transaction keeps a lock for as long as the patience lasts.
 */
export async function applyMigration(db: Tx, migration: Migration, options: ApplyOptions = {}): Promise<void> {
  const { lockMs = LOCK_MS } = options
  if (isOnline(migration)) return applyOnline(db, migration, lockMs, options)
  await patiently(options)(db, migration, DEADLOCKS, () =>
    inTransaction(db, async () => {
      await db.query(`set local lock_timeout = ${lockMs}`)
      await applyMigrations(db, [migration])
    }),
  )
}

/** A crash between two statements begins the file again, so each statement may be applied twice. */
async function applyOnline(db: Tx, migration: Migration, lockMs: number, options: ApplyOptions): Promise<void> {
  const attempt = patiently(options)
  try {
    for (const statement of statementsOf(migration.sql)) {
      // Building and dropping concurrently waits for transactions, and blocks no reader and no writer meanwhile.
      const isConcurrent = new RegExp(CONCURRENTLY.source, 'i').test(statement)
      await db.query(`set lock_timeout = ${isConcurrent ? 0 : lockMs}`)
      if (isConcurrent) options.log?.(`${migration.name}: ${statement.split(/\s+on\s/i)[0]}`)
      await attempt(db, { ...migration, sql: statement }, isConcurrent ? Number.POSITIVE_INFINITY : DEADLOCKS, async () => {
        if (!(await isBuilt(db, NEW_INDEX.exec(statement)?.[1]))) await db.query(statement)
      })
    }
  } finally {
    await db.query('reset lock_timeout').catch(() => undefined)
  }
  await recorded(db, migration)
}

/** Whether the index is there and whole. One that an interrupted build has left, which no query uses and every writer keeps up, is dropped. */
async function isBuilt(db: Tx, index: string | undefined): Promise<boolean> {
  if (index === undefined) return false
  const { rows } = await db.query<{ is_valid: boolean }>('select indisvalid as is_valid from pg_index where indexrelid = to_regclass($1)', [
    `public.${index}`,
  ])
  if (rows[0]?.is_valid === false) await db.query(`drop index concurrently public.${index}`)
  return rows[0]?.is_valid ?? false
}

async function inTransaction(db: Tx, work: () => Promise<void>): Promise<void> {
  await db.query('begin')
  try {
    await work()
    await db.query('commit')
  } catch (error) {
    await db.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Makes autovacuum leave the tables that the text alters. Whatever else holds such a lock (an index under construction) keeps it. */
async function endAutovacuum(db: Tx, sql: string): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    `select distinct c.oid::regclass::text as name from pg_class c join pg_locks l on l.relation = c.oid and l.granted
     where c.relnamespace = 'public'::regnamespace and c.relname = any ($1) and l.mode = 'ShareUpdateExclusiveLock'`,
    [[...sql.matchAll(ALTERED)].map(([, name]) => name!.toLowerCase())],
  )
  for (const { name } of rows)
    await inTransaction(db, async () => {
      await db.query(`set local lock_timeout = ${AUTOVACUUM_MS}`)
      await db.query(`lock table ${name} in share update exclusive mode`)
    }).catch(error => {
      if (!isLockTimeout(error)) throw error
    })
}

/** Tries again what fails for a lock; all that one call returns shares one patience. `most`: so many deadlocks are a failure. */
function patiently({ log, patienceMs = PATIENCE_MS, signal }: ApplyOptions) {
  let waitedMs = 0
  return async (db: Tx, { name, sql }: Migration, most: number, work: () => Promise<void>): Promise<void> => {
    let deadlocks = 0
    for (let attempt = 1; ; attempt++) {
      signal?.throwIfAborted()
      const begin = performance.now()
      try {
        return await work()
      } catch (error) {
        const isLock = isLockTimeout(error)
        if (!isLock && (!isRetryable(error) || ++deadlocks === most)) throw error
        waitedMs += Math.min(MOST_OF_ATTEMPT_MS, performance.now() - begin)
        if (waitedMs > patienceMs) throw new SchemaRefused(await refusalOf(db, name, patienceMs), { cause: error })
        if (isLock && attempt === 1) log?.(`${name} waits for a lock`)
        if (isLock) await endAutovacuum(db, sql)
        if (deadlocks === 1 && most > DEADLOCKS) log?.(`${name}: an older process waits for the migration: stop it`)
        const pauseMs = Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * attempt)
        await delay(pauseMs, undefined, signal && { signal })
        waitedMs += pauseMs
      }
    }
  }
}

async function refusalOf(db: Tx, name: string, patienceMs: number): Promise<string> {
  const { rows } = await db.query<{ pid: number; program: string; since: string }>(
    `select pid, coalesce(nullif(application_name, ''), usename, 'unknown') as program, xact_start as since from pg_stat_activity
     where datname = current_database() and xact_start is not null and pid <> pg_backend_pid() order by xact_start limit 1`,
  )
  const oldest = rows[0] && `; the oldest transaction is of ${rows[0].program} (process ${rows[0].pid}, since ${rows[0].since})`
  const whose = oldest ?? ((await seesOthers(db)) ? '' : '; grant pg_read_all_stats to its role to see whose it is')
  return `migration ${name} got no lock within ${Math.round(patienceMs / 1000)} s${whose}: end what holds it, and start again`
}

/** Whether Postgres shows the transactions of other roles. */
async function seesOthers(db: Tx): Promise<boolean> {
  const { rows } = await db.query<{ sees: boolean }>(`select pg_has_role('pg_read_all_stats', 'usage') as sees`)
  return rows[0]!.sees
}
