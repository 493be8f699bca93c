import { setTimeout as pause } from 'node:timers/promises'
import { Redis, type RedisOptions } from 'ioredis'

/** A command that takes longer has failed: the sweep then gives its batches to its own worker. */
const COMMAND_MS = 1_000
/** A connection without an answer for this long is dead, whatever TCP says. It is longer than a worker's blocking wait for the next message. */
const SILENCE_MS = 15_000
/** How long a start waits for Redis before it continues without Redis. */
const START_MS = 1_000
const LONGEST_PAUSE_MS = 1_000

const COMMON = {
  connectTimeout: 5_000,
  keepAlive: 10_000,
  retryStrategy: (times: number) => Math.min(times * 50, LONGEST_PAUSE_MS),
  // After a fail-over the former primary refuses to write; the name may resolve to the new primary by now.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 2 : false),
}

/** For callers that cannot wait: every command fails at once while there is no connection. Reconnects by itself. */
export const promptConnection = (url: string): Redis =>
  new Redis(url, {
    ...COMMON,
    connectionName: 'perennial-queue',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_MS,
    socketTimeout: 2 * COMMAND_MS,
  })

/** Resolves when Redis has answered or failed, or after a second. */
export const settled = (connection: Redis): Promise<unknown> =>
  Promise.race([
    new Promise(resolve => connection.once('ready', resolve).once('error', resolve)),
    pause(START_MS, undefined, { ref: false }),
  ])

export type PatientConnection = { connection: Redis; close(): void }

/** For callers that wait for messages: commands survive an outage. BullMQ duplicates the connection, to block on it; `close` ends the copies, too. */
export function patientConnection(url: string): PatientConnection {
  const connection = new Redis(url, {
    ...COMMON,
    connectionName: 'perennial-queue-listener',
    maxRetriesPerRequest: null,
    socketTimeout: SILENCE_MS,
  })
  const all: Redis[] = [connection]
  const { duplicate } = connection
  connection.duplicate = ((options?: Partial<RedisOptions>) => {
    const copy = duplicate.call(connection, options) as Redis
    all.push(copy)
    return copy
  }) as typeof duplicate
  return {
    connection,
    close() {
      for (const each of all) each.disconnect()
    },
  }
}
