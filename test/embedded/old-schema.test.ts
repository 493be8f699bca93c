import { expect, onTestFinished, test } from 'vitest'
import { applyMigration } from '../../store/apply-migration.ts'
import { startEmbedded } from '../../store/embedded/start.ts'
import { knownMigrations, newestOf } from '../../store/schema-history.ts'
import { freshDatabase } from '../harness/database.ts'
import { launch } from '../harness/process.ts'
import { until } from '../harness/until.ts'
import { madeFolder, processesBelow, query, temporaryFolder } from './processes.ts'

/** The history that a database had before the first release. */
const UNRELEASED = ['001-foundation.sql', '002-resources.sql', '003-engine.sql', '004-throughput.sql', '005-batches.sql']
const USE_EMPTY = 'set DATABASE_URL to an empty database, or DATA_DIR to an empty folder\n'
const UNRELEASED_LINE = `perennial: the database has the schema of an unreleased version of Perennial (migration 001-foundation.sql): ${USE_EMPTY}`

const writeHistory = (names: string[]) => `
  drop table if exists migrations;
  create table migrations (version int primary key, name text not null, applied_at timestamptz not null default now());
  insert into migrations (version, name) values ${names.map(name => `(${Number.parseInt(name, 10)}, '${name}')`).join(', ')}`

/** Starts the product and returns its exit code and all that it printed. */
async function start(env: Record<string, string>): Promise<[number | null, string]> {
  const { ended, output } = launch({ env: { PORT: '0', LOG_LEVEL: 'warn', ...env } })
  return [await ended, output()]
}

test('a database with another history ends the start with one line, exit code 1', async () => {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const env = { DATABASE_URL: database.url, APP_SECRET: 'a secret for tests only, long enough', DATA_DIR: await temporaryFolder() }

  await database.pool.query(writeHistory(UNRELEASED))
  expect(await start(env)).toEqual([1, UNRELEASED_LINE])
  expect((await database.pool.query('select name from migrations order by version')).rows.map(({ name }) => name)).toEqual(UNRELEASED)

  const known = (await knownMigrations()).map(({ name }) => name)
  const newest = newestOf(await knownMigrations())
  await database.pool.query(writeHistory([...known, '999-later.sql']))
  expect(await start(env)).toEqual([
    1,
    `perennial: the database is at version 999, this program knows version ${newest}: start the newer program that made it\n`,
  ])

  await database.pool.query('drop table migrations; create table migrations (id int, timestamp bigint, name varchar)')
  expect(await start(env)).toEqual([
    1,
    `perennial: the database belongs to another program (it has another table migrations): ${USE_EMPTY}`,
  ])
})

test('a server that is too old ends the start with one line, exit code 1', async () => {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  await database.pool.query(`
    create schema old;
    create function old.current_setting(name text) returns text language sql as
      $$ select case name when 'server_version_num' then '140018' when 'server_version' then '14.18' else pg_catalog.current_setting(name) end $$`)
  const address = new URL(database.url)
  address.searchParams.set('options', '-c search_path=old,pg_catalog,public')
  const env = { DATABASE_URL: address.href, APP_SECRET: 'a secret for tests only, long enough', DATA_DIR: await temporaryFolder() }
  expect(await start(env)).toEqual([1, 'perennial: Postgres 15 or later is needed: DATABASE_URL names Postgres 14.18\n'])
})

test('a data folder with another history too, and its server is stopped', async () => {
  const dataDir = await madeFolder()
  const embedded = await startEmbedded({ dataDir, log: () => {} })
  await query(embedded.url, writeHistory(UNRELEASED))
  await embedded.stop()
  expect(await start({ DATA_DIR: dataDir })).toEqual([1, UNRELEASED_LINE])
  expect(await processesBelow(dataDir)).toEqual([])
})

test('a migration that a deadlock with an older process ends begins again', async () => {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const [older, newer] = [await database.pool.connect(), await database.pool.connect()]
  await older.query('begin; select 1 from experiments')
  const sql = 'lock table segments in access exclusive mode; lock table experiments in access exclusive mode'
  const applied = applyMigration(newer, { version: 999, name: '999-later.sql', sql }, { lockMs: 0 })
  const waiting = 'select 1 from pg_locks where not granted and relation = $1::regclass and mode = $2'
  await until('the migration waits', async () => (await database.pool.query(waiting, ['experiments', 'AccessExclusiveLock'])).rows[0])
  // The migration has waited for longer, so it is the one that finds the deadlock.
  await older.query('select 1 from segments')
  await older.query('commit')
  await applied
  expect((await database.pool.query('select name from migrations where version = 999')).rows).toEqual([{ name: '999-later.sql' }])
  for (const connection of [older, newer]) connection.release()
})
