import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { pruneLogs } from '../../store/embedded/postmaster.ts'
import { startEmbedded } from '../../store/embedded/start.ts'
import { migrate } from '../../store/migrate.ts'
import { asSuperuser } from '../harness/superuser.ts'
import { begin, exists, keep, kept, processesBelow, query, temporaryFolder } from './processes.ts'

const quiet = () => undefined
const settings = (url: string) =>
  query<{ name: string; setting: string }>(url, 'select name, setting from pg_settings').then(rows =>
    Object.fromEntries(rows.map(({ name, setting }) => [name, setting])),
  )

test('a folder that counts as empty becomes a durable UTF-8 database, and is the same one at the next start', async () => {
  const dataDir = await temporaryFolder()
  for (const name of ['lost+found', 'exports', 'imports']) await mkdir(join(dataDir, name))
  for (const name of ['.gitkeep', 'app_secret']) await writeFile(join(dataDir, name), '')
  const before = await readdir(dataDir)
  const first = await startEmbedded({ dataDir, log: quiet })
  expect(await settings(first.url)).toMatchObject({
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    data_checksums: 'on',
    server_encoding: 'UTF8',
    password_encryption: 'scram-sha-256',
    max_connections: '300',
    max_wal_size: '2048',
    listen_addresses: '127.0.0.1',
    data_directory: join(dataDir, 'postgres'),
  })
  expect(await query(first.url, "select current_database() d, lower('ÄÖ') l, 'a' < 'B' c")).toEqual([{ d: 'perennial', l: 'äö', c: false }])
  await keep(first.url)
  await nobodyEnters(dataDir, first.url)
  expect((await processesBelow(dataDir)).length).toBeGreaterThan(3)
  await first.stop()
  await first.stop()

  // Nothing is left: no process, no lock, only what is to be kept.
  expect(await processesBelow(dataDir)).toEqual([])
  expect((await readdir(dataDir)).sort()).toEqual([...before, 'perennial.json', 'postgres'].sort())
  expect((await readdir(join(dataDir, 'postgres'))).filter(name => /pid|lock|\.s\./.test(name))).toEqual([])
  expect(JSON.parse(await readFile(join(dataDir, 'perennial.json'), 'utf8'))).toEqual({ format: 1, postgres: 18 })

  const second = await startEmbedded({ dataDir, log: quiet })
  expect(await kept(second.url)).toBe(7)
  await second.stop()
})

test('the role of the service is no superuser, reads no file, and leaves no key in the log of the server', async () => {
  const dataDir = await temporaryFolder()
  const { url, stop } = await startEmbedded({ dataDir, log: quiet })
  await migrate(url)
  expect(
    await query(url, 'select rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls from pg_roles where rolname = user'),
  ).toEqual([{ rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolreplication: false, rolbypassrls: false }])
  const memberships = "select string_agg(roleid::regrole::text, ' ') as of from pg_auth_members where member = user::regrole"
  expect(await query(url, memberships)).toEqual([{ of: 'pg_read_all_settings' }])
  for (const statement of [
    "select pg_read_file('postgresql.conf')",
    "copy (select 1) to program 'true'",
    'set session authorization postgres',
    'alter system set fsync = off',
  ])
    await expect(query(url, statement)).rejects.toThrow(/permission denied/)
  expect((await stat(join(dataDir, 'postgres', 'superuser_password'))).mode & 0o777).toBe(0o600)
  await asSuperuser(dataDir, url, ['select pg_reload_conf()'])

  const insert = "insert into kept_keys values ('anna@example.org')"
  await query(url, `create table kept_keys (id text primary key); ${insert}`)
  const client = new pg.Client(url)
  await client.connect()
  await client.query('insert into kept_keys values ($1)', ['anna@example.org']).catch(() => undefined)
  await client.end()
  await stop()
  const folder = join(dataDir, 'postgres', 'log')
  const logs = (await Promise.all((await readdir(folder)).map(name => readFile(join(folder, name), 'utf8')))).join('')
  expect(logs).toContain('duplicate key')
  expect(logs).not.toContain('anna')
})

async function nobodyEnters(dataDir: string, url: string) {
  const password = await stat(join(dataDir, 'postgres', 'password'))
  expect(password.mode & 0o777).toBe(0o600)
  const wrong = new URL(url)
  wrong.password = 'guess'
  await expect(query(wrong.href, 'select 1')).rejects.toThrow(/password authentication failed/)
  const hba = await readFile(join(dataDir, 'postgres', 'pg_hba.conf'), 'utf8')
  const methods = hba.split('\n').filter(line => /^(local|host)/.test(line))
  expect(methods.length).toBeGreaterThan(0)
  expect(methods.filter(line => !line.endsWith('scram-sha-256'))).toEqual([])
}

test('the log does not grow without bound', async () => {
  const dataDir = await temporaryFolder()
  const log = join(dataDir, 'log')
  await mkdir(log)
  const names = [...Array(9).keys()].map(n => `postgres-2026-01-0${n + 1}_000000.log`)
  for (const name of [...names, 'notes']) await writeFile(join(log, name), '')
  await pruneLogs(dataDir)
  expect((await readdir(log)).sort()).toEqual(['notes', ...names.slice(4)])
})

test('half a database, left by a start that was killed, is never taken for one', async () => {
  const dataDir = await temporaryFolder()
  const killed = begin(dataDir)
  const drafts = () => readdir(dataDir).then(names => names.filter(name => name.startsWith('postgres.tmp-')))
  while ((await drafts()).length === 0 || !(await exists(join(dataDir, (await drafts())[0] ?? '', 'cluster', 'PG_VERSION'))));
  killed.kill('SIGKILL')
  await killed.ended
  expect(await exists(join(dataDir, 'postgres'))).toBe(false)
  expect((await drafts()).length).toBe(1)

  const { url, stop } = await startEmbedded({ dataDir, log: quiet })
  expect(await query(url, 'select 1 as n')).toEqual([{ n: 1 }])
  expect(await drafts()).toEqual([])
  await stop()
})
