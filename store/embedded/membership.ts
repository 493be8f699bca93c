import { realpath } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Postmaster, shutDown } from './postmaster.ts'
import { here } from './reach.ts'

// Any number that nobody else uses as a lock in the database "postgres".
const members = 5_201_802_601

/** A service's place at the server: a connection of its own with the shared lock. `lost` resolves when it broke. */
export type Membership = { server: Postmaster; lost: Promise<void>; leave(): Promise<void> }

export type Joined = { is: 'joined'; membership: Membership } | { is: 'busy'; why: string } | { is: 'foreign'; why: string }

/**
 * Joins a server: checks that it is the one of the folder and takes the shared lock.
 * `busy`: it starts or stops, try again. `foreign`: it is another server, or does not know the password.
 */
export async function join(server: Postmaster, cluster: string, password: string): Promise<Joined> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: server.port,
    user: 'perennial',
    password,
    database: 'postgres', // not "perennial", which can be dropped and loaded again below us
    ssl: false, // the environment (PGSSLMODE) has no say
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    application_name: 'perennial member',
  })
  client.on('error', () => undefined) // `end` follows
  const lost = new Promise<void>(resolve => client.once('end', resolve))
  const refuse = async (is: 'busy' | 'foreign', why: string): Promise<Joined> => {
    await client.end().catch(() => undefined)
    return { is, why }
  }
  try {
    await client.connect()
    const directory = await value<string>(client, "select current_setting('data_directory')")
    if (!(await same(directory, server, cluster))) return refuse('foreign', `the server on port ${server.port} serves ${directory}`)
    // Not given while the last service, which holds the exclusive lock, stops the server.
    if (!(await value<boolean>(client, `select pg_try_advisory_lock_shared(${members})`)))
      return refuse('busy', 'the server is being stopped')
    return { is: 'joined', membership: { server, lost, leave: () => leave(client, server, cluster) } }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return refuse(code?.startsWith('28') ? 'foreign' : 'busy', message)
  }
}

const value = async <T>(client: pg.Client, query: string): Promise<T> =>
  (await client.query<[T]>({ text: query, rowMode: 'array' })).rows[0]?.[0] as T

async function same(directory: string, server: Postmaster, cluster: string): Promise<boolean> {
  const named = directory === here ? `/proc/${server.pid}/cwd` : directory
  const [theirs, ours] = await Promise.all([named, cluster].map(path => realpath(path).catch(() => undefined)))
  return theirs !== undefined && theirs === ours
}

/**
 * Gives the shared lock back and tries to get the exclusive one: who gets it was the last, and stops the server.
 * Of two that leave at the same moment at most one gets it, and one does: each tries after giving its own back.
 */
async function leave(client: pg.Client, server: Postmaster, cluster: string): Promise<void> {
  try {
    await client.query(`select pg_advisory_unlock_shared(${members})`)
    // The server takes some milliseconds to see that a service was killed, and counts it until then.
    const limit = performance.now() + 250
    let last = false
    while (!last && performance.now() < limit) {
      last = await value<boolean>(client, `select pg_try_advisory_lock(${members})`)
      if (!last) await sleep(10)
    }
    if (last) await shutDown(server, cluster)
  } catch {
    // The connection broke: with it went the lock, and whoever else lives keeps the server.
  }
  await client.end().catch(() => undefined)
}
