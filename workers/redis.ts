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
/** A connection without an answer for this long is dead, whatever TCP says. It is longer than a worker's blocking wait for the next message. */
const SILENCE_MS = 15_000
/** How long a start waits for Redis before it continues without Redis. */
const START_MS = 1_000
const LONGEST_PAUSE_MS = 1_000
/** A sentinel that says nothing for so long is passed over. */
const SENTINEL_MS = 3_000
/** A command that finds its node gone is sent again after a tenth of a second: as often as the time limit of a command allows. */
const REDIRECTIONS = 10
/** A cluster in which nothing is asked for does not tell that another node has the keys now. */
const SLOTS_MS = 5_000

const retryStrategy = (times: number): number => Math.min(times * 50, LONGEST_PAUSE_MS)

const COMMON = {
  connectTimeout: 5_000,
  keepAlive: 10_000,
  // After a fail-over the former primary refuses to write; the name may resolve to the new primary by now.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? (2 as const) : false),
}

type Options = Pick<RedisOptions, 'autoResendUnfulfilledCommands' | 'commandTimeout' | 'maxRetriesPerRequest'> & {
  connectionName: string
  socketTimeout: number
  enableOfflineQueue: boolean
}

function open(server: RedisServer, { enableOfflineQueue, ...rest }: Options): Connection {
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
        sentinelCommandTimeout: SENTINEL_MS,
        ...(tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
      })
    }
    case 'cluster': {
      const { hosts, login, tls } = server
      return new Cluster(hosts, {
        enableOfflineQueue,
        clusterRetryStrategy: retryStrategy,
        maxRedirections: REDIRECTIONS,
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
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_MS,
    socketTimeout: 2 * COMMAND_MS,
  })

/** Resolves when Redis has answered or failed, or after a second. */
export const settled = (connection: Connection): Promise<unknown> =>
  Promise.race([
    new Promise(resolve => connection.once('ready', resolve).once('error', resolve)),
    pause(START_MS, undefined, { ref: false }),
  ])

export type PatientConnection = { connection: Connection; close(): void }

/** For callers that wait for messages: commands survive an outage. BullMQ duplicates the connection, to block on it; `close` ends the copies, too. */
export function patientConnection(server: RedisServer): PatientConnection {
  const connection = open(server, {
    connectionName: 'perennial-queue-listener',
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    socketTimeout: SILENCE_MS,
  })
  const all: Connection[] = [connection]
  const duplicate = connection.duplicate.bind(connection) as (...options: unknown[]) => Connection
  const kept = (...options: unknown[]): Connection => {
    const copy = duplicate(...options)
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
