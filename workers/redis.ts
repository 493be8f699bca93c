import { Redis, type RedisOptions } from 'ioredis'
import { patience } from '../store/patience.ts'
import { type ClusterAccess, clusterNode, type RedisHost, type RedisLogin, type RedisTls } from './redis-cluster-node.ts'

/** One Redis; a primary that sentinels watch; or a cluster. Valkey is all of them, too. */
export type RedisServer =
  | { is: 'one'; url: string; ca?: string[] | undefined }
  | { is: 'sentinels'; hosts: RedisHost[]; master: string; database: number; login: RedisLogin; sentinelLogin: RedisLogin; tls: RedisTls }
  | ({ is: 'cluster' } & ClusterAccess)

/** A command that takes longer has failed: the sweep then gives its batches to its own worker. */
const COMMAND_MS = 1_000
/** A server without an answer for this long is gone, whatever TCP says: its machine may be away without a word. */
const SILENCE_MS = 2 * COMMAND_MS
/** To connect, on a busy machine and with TLS, and to ask a sentinel or a node of a cluster, takes less. */
const CONNECT_MS = 3_000
/**
 * How long a worker waits for the next message before it looks again, in seconds. While it waits, only the time that it should take tells that
 * Redis is gone: a short wait is noticed soon, and costs two commands for each kind of job.
 */
export const WAIT_SECONDS = 2
/** How long a start waits for Redis before it continues without Redis. */
const START_MS = 1_000
const LONGEST_PAUSE_MS = 1_000
const retryStrategy = (times: number): number => Math.min(times * 50, LONGEST_PAUSE_MS)

const FAILED_OVER = /^(READONLY|MOVED|CLUSTERDOWN) /

const COMMON = {
  connectTimeout: CONNECT_MS,
  keepAlive: 10_000,
  // After a fail-over the former primary refuses to write, and another server has its name or its keys by now.
  reconnectOnError: (error: Error) => (FAILED_OVER.test(error.message) ? (2 as const) : false),
}

type Options = Pick<RedisOptions, 'autoResendUnfulfilledCommands' | 'commandTimeout' | 'maxRetriesPerRequest'> & {
  connectionName: string
  socketTimeout: number
  enableOfflineQueue: boolean
}

/** `key`: one of those that the connection is for, which are all on one node where there is a cluster. */
function open(server: RedisServer, key: string, given: Options): Redis {
  const options = { ...COMMON, ...given, retryStrategy }
  switch (server.is) {
    case 'one': {
      const { url, ca } = server
      // What the address says goes before the options, and `rediss:` says that there are no other authorities.
      if (ca) return new Redis(url.replace(/^rediss:/, 'redis:'), { ...options, tls: { ca } })
      return new Redis(url, options)
    }
    case 'sentinels': {
      const { hosts, master, database, login, sentinelLogin, tls } = server
      return new Redis({
        ...options,
        sentinels: hosts,
        name: master,
        db: database,
        ...login,
        sentinelUsername: sentinelLogin.username,
        sentinelPassword: sentinelLogin.password,
        sentinelRetryStrategy: retryStrategy,
        sentinelCommandTimeout: CONNECT_MS,
        ...(tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
      })
    }
    case 'cluster': {
      const { login, tls } = server
      const Connector = clusterNode(server, key, { limitMs: CONNECT_MS, pauseMs: retryStrategy })
      return new Redis({ ...options, ...login, ...(tls && { tls }), Connector })
    }
  }
}

/** For callers that cannot wait: every command fails at once while there is no connection. Reconnects by itself. */
export const promptConnection = (server: RedisServer, key: string): Redis =>
  open(server, key, {
    connectionName: 'perennial-queue',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_MS,
    socketTimeout: SILENCE_MS,
  })

/** Resolves when Redis has answered or failed, or after a second in which an answer would have been seen. */
export const settled = (connection: Redis): Promise<unknown> =>
  Promise.race([new Promise(resolve => connection.once('ready', resolve).once('error', resolve)), patience(START_MS, { ref: false })])

/**
 * Why Redis does not work. `error`: what a connection tells. Of sentinels it tells only that none has answered; the first one of the configuration
 * then tells whether it refuses the connection, the certificate or the password.
 */
export async function outageReason(server: RedisServer, error: Error): Promise<Error> {
  if (server.is !== 'sentinels') return error
  const { hosts, sentinelLogin, tls } = server
  const options = { ...hosts[0], ...sentinelLogin, ...(tls && { tls }), connectTimeout: CONNECT_MS, socketTimeout: SILENCE_MS }
  const first = new Redis({ ...options, lazyConnect: true, enableReadyCheck: false, retryStrategy: null })
  let reason: Error | undefined
  first.on('error', failure => {
    reason ??= failure
  })
  await first.connect().catch(() => {})
  first.disconnect()
  return reason ?? error
}

export type PatientConnection = { connection: Redis; close(): void }

/**
 * For callers that wait for messages: commands survive an outage. BullMQ duplicates the connection and waits on the copies, for `WAIT_SECONDS`;
 * `close` ends the copies, too.
 */
export function patientConnection(server: RedisServer, key: string): PatientConnection {
  const connection = open(server, key, {
    connectionName: 'perennial-queue-listener',
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    socketTimeout: SILENCE_MS,
  })
  const all = [connection]
  const duplicate = connection.duplicate.bind(connection)
  const waits = { socketTimeout: WAIT_SECONDS * 1_000 + SILENCE_MS }
  const kept = (options?: RedisOptions): Redis => {
    const copy = duplicate({ ...options, ...waits })
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
