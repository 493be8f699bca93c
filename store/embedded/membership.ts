import { realpath } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { WORKING_DIRECTORY } from './folder-path.ts'
import { type Postmaster, shutDown } from './postmaster.ts'

// Any number that no other lock in the database "postgres" has.
const MEMBERS_LOCK = 5_201_802_601

/** The membership of a service at the server: a connection of its own that holds the shared lock. `lost` resolves when the connection breaks. */
export type Membership = { server: Postmaster; lost: Promise<void>; leave(): Promise<void> }

export type Joined = { is: 'joined'; membership: Membership } | { is: 'busy'; why: string } | { is: 'foreign'; why: string }

/**
 * Joins a server: checks that it serves the folder, and takes the shared lock.
 * `busy`: the server starts or stops, try again. `foreign`: it serves another folder, or has another password.
 */
export async function joinServer(server: Postmaster, cluster: string, password: string): Promise<Joined> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: server.port,
    user: 'perennial',
    password,
    database: 'postgres', // not "perennial", which may be dropped and loaded again meanwhile
    ssl: false, // regardless of the environment (PGSSLMODE)
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
    const directory = await queryValue<string>(client, "select current_setting('data_directory')")
    if (!(await isCluster(directory, server, cluster))) return refuse('foreign', `the server on port ${server.port} serves ${directory}`)
    // Refused while the last service, which holds the exclusive lock, stops the server.
    if (!(await queryValue<boolean>(client, `select pg_try_advisory_lock_shared(${MEMBERS_LOCK})`)))
      return refuse('busy', 'the server is being stopped')
    return { is: 'joined', membership: { server, lost, leave: () => leave(client, server, cluster) } }
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    return refuse(code?.startsWith('28') ? 'foreign' : 'busy', message)
  }
}

const queryValue = async <T>(client: pg.Client, query: string): Promise<T> =>
  (await client.query<[T]>({ text: query, rowMode: 'array' })).rows[0]?.[0] as T

async function isCluster(directory: string, server: Postmaster, cluster: string): Promise<boolean> {
  const named = directory === WORKING_DIRECTORY ? `/proc/${server.pid}/cwd` : directory
  const [theirs, ours] = await Promise.all([named, cluster].map(path => realpath(path).catch(() => undefined)))
  return theirs !== undefined && theirs === ours
}

/**
 * Releases the shared lock and tries to take the exclusive one: the service that gets it is the last, and stops the server.
 * Of two services that leave at the same moment exactly one gets it: each tries after it released its own lock.
 */
async function leave(client: pg.Client, server: Postmaster, cluster: string): Promise<void> {
  try {
    await client.query(`select pg_advisory_unlock_shared(${MEMBERS_LOCK})`)
    // The server needs some milliseconds to notice that a service was killed. Until then the service has its lock.
    const limit = performance.now() + 250
    let isLast = false
    while (!isLast && performance.now() < limit) {
      isLast = await queryValue<boolean>(client, `select pg_try_advisory_lock(${MEMBERS_LOCK})`)
      if (!isLast) await sleep(10)
    }
    if (isLast) await shutDown(server, cluster)
  } catch {
    // The connection broke and the lock with it. The server stays for the other services.
  }
  await client.end().catch(() => undefined)
}
