import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../store/embedded/start.ts'
import { migrate } from '../store/migrate.ts'
import { asSuperuser, TEST_GRANTS } from '../test/harness/superuser.ts'
import { say } from './report.ts'
import type { Resources } from './resources.ts'

/** A new database with the product's schema. Its server: BENCH_DATABASE_URL, else a private server with Postgres's default durability. */
export async function newDatabase(resources: Resources): Promise<string> {
  const server = process.env.BENCH_DATABASE_URL ?? (await serverOf(resources))
  const name = `bench_${randomBytes(6).toString('hex')}`
  await once(server, `create database ${name}`)
  // A private server is removed with its folder.
  if (process.env.BENCH_DATABASE_URL) resources.undo(() => once(server, `drop database if exists ${name} with (force)`))
  const url = new URL(server)
  url.pathname = `/${name}`
  await migrate(url.href)
  return url.href
}

const servers = new WeakMap<Resources, Promise<string>>()

/** One server for all databases of a bench: sides that are compared must share a server. */
function serverOf(resources: Resources): Promise<string> {
  const server = servers.get(resources) ?? privateServer(resources)
  servers.set(resources, server)
  return server
}

async function privateServer(resources: Resources): Promise<string> {
  const dataDir = join(resources.folder, 'server')
  await mkdir(dataDir)
  const server = await startEmbedded({ dataDir, log: say })
  resources.undo(() => server.stop())
  await asSuperuser(dataDir, server.url, TEST_GRANTS)
  return server.url
}

/** Runs one statement on its own connection. */
async function once(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}

/** One line for the report: the server's version and the settings that decide durability. */
export async function durability(url: string): Promise<string> {
  const { rows } = await once(
    url,
    `select 'Postgres ' || split_part(current_setting('server_version'), ' ', 1) || ', ' || string_agg(name || ' ' || setting, ', ' order by name) as line
     from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers')`,
  )
  return rows[0].line
}
