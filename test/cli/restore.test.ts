import { appendFile, cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { backup } from '../../cli/backup.ts'
import { project } from '../../cli/project.ts'
import { restore } from '../../cli/restore.ts'
import { createProject } from '../../domain/projects/create.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { loadDump } from '../../store/dump/load.ts'
import { type Manifest, readManifest } from '../../store/dump/manifest.ts'
import { writeDump } from '../../store/dump/write.ts'
import { migrate } from '../../store/migrate.ts'
import { knownMigrations } from '../../store/schema-history.ts'
import { transaction } from '../../store/transaction.ts'
import { APP_SECRET } from '../harness/api.ts'
import { freshDatabase } from '../harness/database.ts'
import { until } from '../harness/until.ts'
import { call, temporaryFolder } from './call.ts'

const signal = new AbortController().signal
const check = async () => {}

async function place() {
  const database = await freshDatabase()
  onTestFinished(() => database.drop())
  const env = { DATABASE_URL: database.url, APP_SECRET, DATA_DIR: await temporaryFolder() }
  const projects = async () => (await database.pool.query('select count(*)::int as n from projects')).rows[0].n as number
  return { database, env, projects }
}

/** A backup of a database with one project. */
let original: string
beforeAll(async () => {
  const database = await freshDatabase()
  const env = { DATABASE_URL: database.url, APP_SECRET, DATA_DIR: '/nonexistent' }
  await transaction(database.pool, tx => createProject(tx, secretsFrom(APP_SECRET), { name: 'Tab\there, \\. and "quotes"\n\\.\n' }))
  const { mkdtemp } = await import('node:fs/promises')
  const { tmpdir } = await import('node:os')
  const folder = await mkdtemp(join(tmpdir(), 'perennial-cli-'))
  original = join(folder, 'backup')
  await call(backup, [original], env)
  await database.drop()
  return () => rm(folder, { recursive: true })
})

async function copyOf(change: (dir: string) => Promise<unknown>): Promise<string> {
  const dir = join(await temporaryFolder(), 'copy')
  await cp(original, dir, { recursive: true })
  await change(dir)
  return dir
}
const inManifest = (change: (manifest: Manifest) => unknown) => async (dir: string) => {
  const manifest: Manifest = JSON.parse(await readFile(join(dir, 'manifest.json'), 'utf8'))
  change(manifest)
  await writeFile(join(dir, 'manifest.json'), JSON.stringify(manifest))
}

test.each([
  ['a folder without a manifest', (dir: string) => rm(join(dir, 'manifest.json')), /is no backup: it has no manifest/],
  ['something else', (dir: string) => writeFile(join(dir, 'manifest.json'), '{}'), /is no backup: its manifest\.json is damaged/],
  ['half a manifest', (dir: string) => writeFile(join(dir, 'manifest.json'), '{"format'), /is no backup/],
  ['another format', inManifest(m => ((m as Manifest & { format_version: number }).format_version = 2)), /format 2, this program reads 1/],
  ['a newer version', inManifest(m => m.migrations.push({ version: 9999, name: '9999-x.sql' })), /made by a newer program \(version 9999/],
  ['another schema', inManifest(m => (m.migrations = [{ version: 1, name: '001-foundation.sql' }])), /made by an unreleased version/],
  [
    'a schema of before the first release',
    inManifest(m => delete (m as { migrations?: unknown }).migrations),
    /made by an unreleased version/,
  ],
  ['a way out of the folder', inManifest(m => (m.files = [{ path: '../../x', bytes: 1, sha256: '' }])), /names files elsewhere/],
  ['a file that was changed', (dir: string) => appendFile(join(dir, 'keys.copy.gz'), 'x'), /keys\.copy\.gz is not as it was written/],
  ['a file that is missing', (dir: string) => rm(join(dir, 'keys.copy.gz')), /keys\.copy\.gz is missing/],
  ['an export that is missing', inManifest(m => (m.files = [{ path: 'a/1.1', bytes: 1, sha256: '' }])), /exports\/a\/1\.1 is missing/],
])('%s is refused before the target is touched', async (_, change, says) => {
  const dir = await copyOf(change)
  const dataDir = await temporaryFolder()
  const result = await call(restore, [dir], { DATA_DIR: dataDir, DATABASE_URL: 'postgres://127.0.0.1:1/none', APP_SECRET })
  expect(result).toMatchObject({ code: 1, out: '' })
  expect(result.notes).toMatch(says)
  expect(await readdir(dataDir)).toEqual([])
  const verified = await call(backup, ['verify', dir], {})
  expect(verified).toMatchObject({ code: 1, out: '' })
  expect(verified.notes).toMatch(says)
})

test('backup verify opens nothing, and counts the rows of each table', async () => {
  const verified = await call(backup, ['verify', original], { DATABASE_URL: 'postgres://127.0.0.1:1/none' })
  expect(verified).toMatchObject({ code: 0, notes: '' })
  expect(verified.out).toMatch(
    / is whole: \d+ rows of \d+ tables and 0 export files as of 20.*\nIt needs the APP_SECRET of its installation/,
  )
  const cut = await copyOf(inManifest(m => (m.tables.find(({ name }) => name === 'keys')!.rows = 4)))
  expect(await call(backup, ['verify', cut], {})).toMatchObject({ code: 1, notes: expect.stringContaining('keys has 3 rows instead of 4') })
  const truncated = await copyOf(dir => truncate(join(dir, 'keys.copy.gz'), 40))
  expect(await call(backup, ['verify', truncated], {})).toMatchObject({
    code: 1,
    notes: expect.stringContaining('is not as it was written'),
  })
})

test('without the secret nothing is written', async () => {
  const { env, projects } = await place()
  expect(await call(restore, [original], { ...env, APP_SECRET: 'another secret altogether, long enough' })).toMatchObject({ code: 1 })
  const dataDir = await temporaryFolder()
  const embedded = await call(restore, [original], { DATA_DIR: dataDir })
  expect(embedded).toMatchObject({ code: 1, notes: expect.stringContaining('set APP_SECRET to the secret of the installation') })
  expect([await projects(), await readdir(dataDir)]).toEqual([0, []])
})

test('a target with a project is left alone', async () => {
  const { env, projects } = await place()
  await call(project, ['create', '--name', 'Mine'], env)
  expect(await call(restore, [original], env)).toMatchObject({ code: 1, notes: expect.stringContaining('the target is not empty') })
  expect(await projects()).toBe(1)
})

test('a restore that fails leaves the target as it was, sequences too', async () => {
  const { env, database, projects } = await place()
  const manifest = await readManifest(original)
  const noSpace = async () => {
    throw new Error('no space')
  }
  await expect(loadDump(database.url, original, manifest, { signal, moveFiles: noSpace })).rejects.toThrow('no space')
  const cut = await copyOf(inManifest(m => (m.tables.find(({ name }) => name === 'keys')!.rows = 4)))
  expect(await call(restore, [cut], env)).toMatchObject({ code: 1, notes: expect.stringContaining('keys has 3 rows instead of 4') })
  expect(await projects()).toBe(0)
  expect((await call(project, ['create', '--name', 'First'], env)).out).toMatch(/^Project 1\n/)
})

test('a service that starts meanwhile waits, and then finds the projects', async () => {
  const { database, projects } = await place()
  let starting: Promise<unknown> = Promise.resolve()
  await loadDump(database.url, original, await readManifest(original), {
    signal,
    moveFiles: async () => {
      starting = migrate(database.url)
      await until('the service that waits', async () => {
        const { rowCount } = await database.pool.query(
          `select 1 from pg_stat_activity
           where query like '%pg_try_advisory_lock%' and application_name = 'perennial-migrate' and datname = current_database()`,
        )
        return rowCount === 1 || undefined
      })
    },
  })
  await starting
  expect(await projects()).toBe(1)
  const { rows } = await database.pool.query('select name from projects')
  expect(rows).toEqual([{ name: 'Tab\there, \\. and "quotes"\n\\.\n' }])
})

test('an older backup is loaded as it was and then brought forward', async () => {
  const { database } = await place()
  const later = {
    version: 9000,
    name: '9000-later.sql',
    sql: `alter table projects add column shout text; update projects set shout = upper(name)`,
  }
  const migrations = [...(await knownMigrations()), later]
  await loadDump(database.url, original, await readManifest(original), { signal, moveFiles: check, migrations })
  const { rows } = await database.pool.query(
    'select left(shout, 3) as shout, (select max(version) from migrations) as version from projects',
  )
  expect(rows).toEqual([{ shout: 'TAB', version: 9000 }])
})

test('an empty database without a schema gets the one of the backup; one that is ahead is refused', async () => {
  const { database, env, projects } = await place()
  await database.pool.query(`insert into migrations (version, name) values (9001, 'ahead')`)
  const result = await call(restore, [original], env)
  expect(result).toMatchObject({ code: 1, notes: expect.stringContaining('migrated to version 9001 already') })
  await database.pool.query('drop schema public cascade; create schema public')
  expect((await call(restore, [original], env)).code).toBe(0)
  expect(await projects()).toBe(1)
})

test('a database with the schema of an unreleased version is neither backed up nor filled, with one line', async () => {
  const { database, env, projects } = await place()
  await database.pool.query(`update migrations set name = '001-foundation.sql'`)
  const line =
    'the database has the schema of an unreleased version of Perennial (migration 001-foundation.sql): set DATABASE_URL to an empty database, or DATA_DIR to an empty folder'
  expect(await call(restore, [original], env)).toMatchObject({ code: 1, out: '', notes: line })
  expect(await projects()).toBe(0)
  const dir = join(await temporaryFolder(), 'backup')
  expect(await call(backup, [dir], env)).toMatchObject({ code: 1, out: '', notes: line })
  await expect(readdir(dir)).rejects.toThrow('ENOENT')
})

test('tables of later migrations go along without a change here: every type, identities, partitions, references', async () => {
  const later = `
    create table "Odd ""name" (id bigint generated always as identity, parent bigint, doubled int generated always as (n * 2) stored, n int,
      f float8, t timestamptz, i interval, b bytea, a text[], j jsonb, primary key (id));
    alter table "Odd ""name" add foreign key (parent) references "Odd ""name";
    create table a_child (odd bigint references "Odd ""name", at date) partition by range (at);
    create table a_child_2026 partition of a_child for values from ('2026-01-01') to ('2027-01-01');
    create sequence numbers increment by 5`
  const from = await place()
  await from.database.pool.query(`${later};
    insert into "Odd ""name" (parent, n, f, t, i, b, a, j) values
      (2, 1, 0.1 + 0.2, '2026-03-29 01:30:00.123456+00', '1 mon -2 days 00:00:00.000001', '\\x00ff0a5c', array['a,b', null, E'\\\\N', ''], '{"k": 1e400}'),
      (null, null, '-Infinity', 'infinity', null, '', '{}', 'null');
    insert into a_child values (1, '2026-05-01'), (2, '2026-06-01');
    select nextval('numbers'), nextval('numbers')`)
  const dir = await temporaryFolder()
  const dumped = await writeDump(from.database.url, dir, { signal, check })
  expect(dumped.tables.map(({ name }) => name)).not.toContain('a_child_2026')
  const to = await place()
  await to.database.pool.query(later)
  await loadDump(to.database.url, dir, { ...dumped, fingerprint: '', has_secret: false, files: [] }, { signal, moveFiles: check })
  const content = async (pool: typeof to.database.pool) => [
    (await pool.query('select o::text from "Odd ""name" o order by id')).rows,
    (await pool.query('select c::text from a_child c order by 1')).rows,
  ]
  expect(await content(to.database.pool)).toEqual(await content(from.database.pool))
  const { rows } = await to.database.pool.query(
    `insert into "Odd ""name" (n) values (21) returning id, doubled, (select nextval('numbers')) as number`,
  )
  expect(rows).toEqual([{ id: 3, doubled: 42, number: 11 }])
})
