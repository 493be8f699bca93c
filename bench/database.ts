import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../store/embedded/start.ts'
import { migrate } from '../store/migrate.ts'
import { say } from './report.ts'
import type { Ground } from './resources.ts'

/** A new database with the product's schema: on a private server with Postgres's own durability, or on that of BENCH_DATABASE_URL. */
export async function newDatabase(ground: Ground): Promise<string> {
  const given = process.env.BENCH_DATABASE_URL
  const server = given ?? (await serverOf(ground))
  const name = `bench_${randomBytes(6).toString('hex')}`
  await once(server, `create database ${name}`)
  ground.undo(() => once(server, `drop database if exists ${name} with (force)`))
  const url = new URL(server)
  url.pathname = `/${name}`
  await migrate(url.href)
  return url.href
}

const servers = new WeakMap<Ground, Promise<string>>()

/** One for all databases of a bench: what is measured side by side stands on the same server. */
function serverOf(ground: Ground): Promise<string> {
  const server = servers.get(ground) ?? privateServer(ground)
  servers.set(ground, server)
  return server
}

async function privateServer(ground: Ground): Promise<string> {
  const dataDir = join(ground.folder, 'server')
  await mkdir(dataDir)
  const server = await startEmbedded({ dataDir, log: say })
  ground.undo(() => server.stop())
  return server.url
}

/** One statement on a connection of its own. */
export async function once(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}

/** Says which server it was and that what it answers is on the disk. */
export async function durability(url: string): Promise<string> {
  const { rows } = await once(
    url,
    `select 'Postgres ' || split_part(current_setting('server_version'), ' ', 1) || ', ' || string_agg(name || ' ' || setting, ', ' order by name) as line
     from pg_settings where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers')`,
  )
  return rows[0].line
}
