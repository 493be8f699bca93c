import { setTimeout as pause } from 'node:timers/promises'
import { Redis, type RedisOptions } from 'ioredis'

/** A command that takes longer has failed: the sweep then claims directly. */
const COMMAND_MS = 1_000
/** A connection that owes us an answer for so long is dead, whatever TCP says. Longer than a worker's wait for the next ring. */
const SILENCE_MS = 15_000
/** How long a start waits for Redis before it goes on without it. */
const START_MS = 1_000
const LONGEST_PAUSE_MS = 1_000

const COMMON = {
  connectTimeout: 5_000,
  keepAlive: 10_000,
  retryStrategy: (times: number) => Math.min(times * 50, LONGEST_PAUSE_MS),
  // After a fail-over the former primary refuses to write: the name may lead to the new one by now.
  reconnectOnError: (error: Error) => (error.message.startsWith('READONLY') ? 2 : false),
}

/** For who asks and cannot wait: while there is no connection every command fails at once. Connects again by itself. */
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

/** Resolves when it is known whether there is a Redis, or after a second. */
export const settled = (connection: Redis): Promise<unknown> =>
  Promise.race([
    new Promise(resolve => connection.once('ready', resolve).once('error', resolve)),
    pause(START_MS, undefined, { ref: false }),
  ])

/** Each connection tries again every second: an outage is told once, until one of them works again. */
export function toldOnce(connections: Redis[], onError: (error: unknown) => void): (error: Error) => void {
  let told: string | undefined
  const tell = (error: Error) => {
    const what = `${error.name} ${error.message}`
    if (what !== told) onError(error)
    told = what
  }
  for (const connection of connections) {
    connection.on('error', tell)
    connection.on('ready', () => {
      told = undefined
    })
  }
  return tell
}

export type PatientConnection = { connection: Redis; close(): void }

/** For who waits for rings: commands outlive an outage. BullMQ makes copies of it, to block on; `close` ends them, too. */
export function patientConnection(url: string): PatientConnection {
  const connection = new Redis(url, {
    ...COMMON,
    connectionName: 'perennial-hears',
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
