import { expect, inject, onTestFinished, test } from 'vitest'
import { applyMigration, applyMigrations } from '../../store/apply-migration.ts'
import { migrate } from '../../store/migrate.ts'
import { takeMigrationLock } from '../../store/migration-lock.ts'
import { SchemaRefused } from '../../store/schema-history.ts'
import { transaction } from '../../store/transaction.ts'
import { type FreshDatabase, freshDatabase } from '../harness/database.ts'
import { executeAll } from '../harness/superuser.ts'
import { until } from '../harness/until.ts'

async function place() {
  const database = await freshDatabase()
  const connections = [await database.pool.connect(), await database.pool.connect(), await database.pool.connect()] as const
  onTestFinished(async () => {
    for (const connection of connections) connection.release(true)
    await database.drop()
  })
  return { database, connections }
}

const later = (sql: string) => ({ version: 999, name: '999-later.sql', sql })
const isRecorded = async ({ pool }: FreshDatabase) => (await pool.query('select 1 from migrations where version = 999')).rowCount === 1
const isValid = async ({ pool }: FreshDatabase, index: string) =>
  (await pool.query('select indisvalid as valid from pg_index where indexrelid = to_regclass($1)', [index])).rows[0]?.valid

test('a migration that waits for a lock lets others pass, and is applied when the lock is free', async () => {
  const { database, connections } = await place()
  const [older, newer, reader] = connections
  await older.query('begin; select 1 from screens')
  const said: string[] = []
  const applied = applyMigration(newer, later('alter table screens add column later text'), { lockMs: 100, log: line => said.push(line) })
  await until('the first attempt has ended', () => said[0])
  // With a migration that stayed in the queue these would wait for the older transaction, which waits for them here.
  for (let n = 0; n < 20; n++) await reader.query('select 1 from screens')
  expect(await isRecorded(database)).toBe(false)
  await older.query('commit')
  await applied
  expect(await isRecorded(database)).toBe(true)
  expect(said).toEqual(['999-later.sql waits for a lock'])
})

test('a migration that gets no lock at all ends with the line that says who has it', async () => {
  const { database, connections } = await place()
  const [older, newer] = connections
  await older.query(`set application_name = 'somebody'; begin; select 1 from screens`)
  const refused = applyMigration(newer, later('alter table screens add column later text'), { lockMs: 20, patienceMs: 50 })
  await expect(refused).rejects.toThrow(SchemaRefused)
  await expect(refused).rejects.toThrow(
    /^migration 999-later\.sql got no lock within 0 s; the oldest transaction is of somebody \(process \d+, since 2.*\): end what holds it, and start again$/,
  )
  expect(await isRecorded(database)).toBe(false)
})

/** Nobody else locks the table so. */
const VACUUMED = `select 1 from pg_locks where relation = 'grown'::regclass and mode = 'ShareUpdateExclusiveLock' and granted`

test('autovacuum leaves a table that a migration waits for', async () => {
  const { database, connections } = await place()
  const [newer, writer] = connections
  const server = (...statements: string[]) => executeAll(inject('embedded').superuser, [...statements, 'select pg_reload_conf()'])
  await server(`alter system set autovacuum_naptime = '1s'`)
  onTestFinished(() => server('alter system reset autovacuum_naptime'))
  // A tenth of a second for each page: minutes for the table.
  await writer.query(`create table grown (n int, text text)
    with (autovacuum_vacuum_insert_threshold = 0, autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)`)
  await writer.query(`insert into grown select n, repeat('x', 1000) from generate_series(1, 10000) n`)
  await until('autovacuum is at work', async () => ((await database.pool.query(VACUUMED)).rowCount === 0 ? undefined : true), 120_000)
  await applyMigration(newer, later('alter table grown add column later text'), { patienceMs: 30_000 })
  expect(await isRecorded(database)).toBe(true)
  const { rows } = await database.pool.query(`select last_autovacuum from pg_stat_user_tables where relname = 'grown'`)
  expect(rows).toEqual([{ last_autovacuum: null }])
}, 180_000)

const ONLINE = `-- online
-- Two indexes; one is there already.
create index concurrently screens_later on screens (environment, name);
create index concurrently screens_after_that on screens (name);
drop index concurrently if exists screens_not_there`

test('an online migration waits for transactions and blocks no writer; what an interrupted one has left is repaired or kept', async () => {
  const { database, connections } = await place()
  const [older, newer, other] = connections
  const rate = (currency: string) => `insert into currency_rates (date, currency, usd_per_unit) values ('2026-01-01', '${currency}', 1)`
  for (const currency of ['EUR', 'GBP']) await other.query(rate(currency))
  await expect(other.query('create unique index concurrently rates_later on currency_rates (date)')).rejects.toThrow('unique')
  await other.query('create index screens_after_that on screens (name)')
  expect(await isValid(database, 'rates_later')).toBe(false)

  await older.query(`begin; ${rate('CHF')}`)
  const sql = ONLINE.replace('screens_later on screens (environment, name)', 'rates_later on currency_rates (date)')
  const applied = applyMigration(newer, later(sql), { lockMs: 50 })
  await until('the build waits for the transaction', async () => {
    const { rowCount } = await database.pool.query(`select 1 from pg_locks where locktype = 'virtualxid' and not granted`)
    return rowCount === 1 || undefined
  })
  await other.query(rate('SEK'))
  await older.query('commit')
  await applied
  expect([await isValid(database, 'rates_later'), await isValid(database, 'screens_after_that')]).toEqual([true, true])
  expect(await isRecorded(database)).toBe(true)
  expect((await newer.query('show lock_timeout')).rows).toEqual([{ lock_timeout: '0' }])
})

test('what is built concurrently is named, and tries again as long as an older process waits for it in a statement', async () => {
  const { database, connections } = await place()
  const [newer, older] = connections
  await newer.query(`set deadlock_timeout = '20ms'; select pg_advisory_lock(1)`)
  // It has a snapshot while it waits.
  const waiting = older.query('select pg_advisory_lock(1)').catch((error: Error) => error.message)
  await until('the older one waits', async () => {
    const { rowCount } = await database.pool.query(`select 1 from pg_locks where locktype = 'advisory' and not granted`)
    return rowCount === 1 || undefined
  })
  const said: string[] = []
  const applied = applyMigration(newer, later(ONLINE), { log: line => said.push(line) })
  await until('more deadlocks than a transaction may have', async () => {
    const { rows } = await database.pool.query<{ n: number }>(
      'select deadlocks::int as n from pg_stat_database where datname = current_database()',
    )
    return rows[0]!.n > 5 || undefined
  })
  expect(await isRecorded(database)).toBe(false)
  await database.pool.query(`select pg_cancel_backend(pid) from pg_locks where locktype = 'advisory' and not granted`)
  expect(await waiting).toMatch(/cancel/)
  await applied
  expect([await isValid(database, 'screens_later'), await isValid(database, 'screens_after_that')]).toEqual([true, true])
  expect(said).toEqual([
    '999-later.sql: create index concurrently screens_later',
    '999-later.sql: an older process waits for the migration: stop it',
    '999-later.sql: create index concurrently screens_after_that',
    '999-later.sql: drop index concurrently if exists screens_not_there',
  ])
})

test('a start waits for no backup while the schema lacks nothing; where it does it says so, and a signal ends the wait', async () => {
  const { database, connections } = await place()
  await takeMigrationLock(connections[0], 'shared')
  expect(await migrate(database.url)).toEqual({ applied: 0 })

  await database.pool.query('delete from migrations where version = (select max(version) from migrations)')
  const stopped = new AbortController()
  const said: string[] = []
  const migrated = migrate(database.url, { log: line => said.push(line), signal: stopped.signal })
  migrated.catch(() => {})
  await until('it waits for its turn', () => said[0])
  stopped.abort()
  await expect(migrated).rejects.toMatchObject({ name: 'AbortError' })
  expect(said).toEqual(['waits for its turn to migrate the database'])
})

test('a process that waits for its turn to migrate does not hold up an index that another one builds', async () => {
  const { database, connections } = await place()
  const [first, second] = connections
  await takeMigrationLock(first, 'exclusive')
  const turn = takeMigrationLock(second, 'exclusive')
  await until('the second one asks', async () => {
    const { rowCount } = await database.pool.query(
      `select 1 from pg_stat_activity where query like '%pg_try_advisory_lock(%' and pid <> pg_backend_pid()`,
    )
    return (rowCount ?? 0) > 1 || undefined
  })
  await applyMigration(first, later(ONLINE))
  await first.query('select pg_advisory_unlock_all()')
  await turn
})

test('a restore applies an online migration in its transaction', async () => {
  const { database } = await place()
  await transaction(database.pool, tx => applyMigrations(tx, [later(ONLINE)]))
  expect(await isValid(database, 'screens_later')).toBe(true)
})
