import { setTimeout as pause } from 'node:timers/promises'
import { Cluster, Redis, type RedisOptions } from 'ioredis'

type Host = { host: string; port: number }
type Login = { username: string | undefined; password: string | undefined }
/** `ca`: the authorities that are trusted in the place of those of the runtime, as PEM. */
type Tls = { ca: string[] | undefined } | undefined

/** One Redis; a primary that sentinels watch; or a cluster. Valkey is all of them, too. */
export type RedisServer =
  | { is: 'one'; url: string; ca?: string[] | undefined }
  | { is: 'sentinels'; hosts: Host[]; master: string; database: number; login: Login; sentinelLogin: Login; tls: Tls }
  | { is: 'cluster'; hosts: Host[]; login: Login; tls: Tls }

export type Connection = Redis | Cluster

/** A command that takes longer has failed: the sweep then gives its batches to its own worker. */
const COMMAND_MS = 1_000
/** A server or sentinel without an answer for this long is gone, whatever TCP says: its machine may be away without a word. */
const SILENCE_MS = 2 * COMMAND_MS
/**
 * How long a worker waits for the next message before it looks again, in seconds. While it waits, only the time that it should take tells that
 * Redis is gone: a short wait is noticed soon, and costs two commands for each kind of job.
 */
export const WAIT_SECONDS = 2
/** How long a start waits for Redis before it continues without Redis. */
const START_MS = 1_000
const LONGEST_PAUSE_MS = 1_000
/** A command of a cluster that finds its node gone looks for the node again, at first for as long as a command may take. */
const REDIRECTIONS = 10
const LOOK_AGAIN_MS = COMMAND_MS / REDIRECTIONS
/**
 * The same for those that wait for messages, one connection for each kind of job: each look reads who has the 16,384 slots, some milliseconds of
 * the processor. Ten a second for each would take all of it while a cluster fails over.
 */
const WAITING_LOOK_AGAIN_MS = 500
/** A cluster in which nothing is asked for does not tell that another node has the keys now. */
const SLOTS_MS = 5_000

const retryStrategy = (times: number): number => Math.min(times * 50, LONGEST_PAUSE_MS)

const COMMON = {
  connectTimeout: SILENCE_MS,
  keepAlive: 10_000,
  // After a fail-over the former primary refuses to write; the name may resolve to the new primary by now.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? (2 as const) : false),
}

type Options = Pick<RedisOptions, 'autoResendUnfulfilledCommands' | 'commandTimeout' | 'maxRetriesPerRequest'> & {
  connectionName: string
  socketTimeout: number
  enableOfflineQueue: boolean
  lookAgainMs: number
}

function open(server: RedisServer, { enableOfflineQueue, lookAgainMs, ...rest }: Options): Connection {
  const options = { ...COMMON, ...rest }
  switch (server.is) {
    case 'one': {
      const { url, ca } = server
      // What the address says goes before the options, and `rediss:` says that there are no other authorities.
      if (ca) return new Redis(url.replace(/^rediss:/, 'redis:'), { ...options, enableOfflineQueue, retryStrategy, tls: { ca } })
      return new Redis(url, { ...options, enableOfflineQueue, retryStrategy })
    }
    case 'sentinels': {
      const { hosts, master, database, login, sentinelLogin, tls } = server
      return new Redis({
        ...options,
        enableOfflineQueue,
        retryStrategy,
        sentinels: hosts,
        name: master,
        db: database,
        ...login,
        sentinelUsername: sentinelLogin.username,
        sentinelPassword: sentinelLogin.password,
        sentinelRetryStrategy: retryStrategy,
        sentinelCommandTimeout: SILENCE_MS,
        ...(tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
      })
    }
    case 'cluster': {
      const { hosts, login, tls } = server
      return new Cluster(hosts, {
        enableOfflineQueue,
        clusterRetryStrategy: retryStrategy,
        maxRedirections: REDIRECTIONS,
        retryDelayOnFailover: lookAgainMs,
        retryDelayOnClusterDown: lookAgainMs,
        slotsRefreshInterval: SLOTS_MS,
        redisOptions: { ...options, ...login, ...(tls && { tls }) },
        // The certificates are for the names.
        ...(tls && { dnsLookup: (name, callback) => callback(null, name) }),
      })
    }
  }
}

/** For callers that cannot wait: every command fails at once while there is no connection. Reconnects by itself. */
export const promptConnection = (server: RedisServer): Connection =>
  open(server, {
    connectionName: 'perennial-queue',
    enableOfflineQueue: false,
    lookAgainMs: LOOK_AGAIN_MS,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_MS,
    socketTimeout: SILENCE_MS,
  })

/** Resolves when Redis has answered or failed, or after a second. */
export const settled = (connection: Connection): Promise<unknown> =>
  Promise.race([
    new Promise(resolve => connection.once('ready', resolve).once('error', resolve)),
    pause(START_MS, undefined, { ref: false }),
  ])

/**
 * Why Redis does not work. `error`: what a connection tells. A cluster tells only that none of its nodes has answered; the first one of the
 * configuration then tells whether it refuses the connection, the certificate or the password.
 */
export async function outageReason(server: RedisServer, error: Error): Promise<Error> {
  if (server.is !== 'cluster') return error
  const { hosts, login, tls } = server
  const options = { ...hosts[0], ...login, ...(tls && { tls }), connectTimeout: SILENCE_MS, socketTimeout: SILENCE_MS }
  const node = new Redis({ ...options, lazyConnect: true, enableReadyCheck: false, retryStrategy: null })
  let reason: Error | undefined
  node.on('error', failure => {
    reason ??= failure
  })
  await node.connect().catch(() => {})
  node.disconnect()
  return reason ?? error
}

export type PatientConnection = { connection: Connection; close(): void }

/**
 * For callers that wait for messages: commands survive an outage. BullMQ duplicates the connection and waits on the copies, for `WAIT_SECONDS`;
 * `close` ends the copies, too.
 */
export function patientConnection(server: RedisServer): PatientConnection {
  const connection = open(server, {
    connectionName: 'perennial-queue-listener',
    enableOfflineQueue: true,
    lookAgainMs: WAITING_LOOK_AGAIN_MS,
    maxRetriesPerRequest: null,
    socketTimeout: SILENCE_MS,
  })
  const all: Connection[] = [connection]
  const duplicate = connection.duplicate.bind(connection) as (...options: unknown[]) => Connection
  const waits = { socketTimeout: WAIT_SECONDS * 1_000 + SILENCE_MS }
  const kept = (...given: unknown[]): Connection => {
    const options = given.at(-1) as { redisOptions?: object } | undefined
    const copy = connection.isCluster
      ? duplicate([], { redisOptions: { ...options?.redisOptions, ...waits } })
      : duplicate({ ...options, ...waits })
    all.push(copy)
    return copy
  }
  connection.duplicate = kept as typeof connection.duplicate
  return {
    connection,
    close() {
      for (const each of all) each.disconnect()
    },
  }
}
