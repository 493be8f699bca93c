import { periodic } from './periodic.ts'
import type { Connection } from './redis.ts'

/** Between two looks: a Redis that hangs is noticed within this time and the limit of a command. */
const PERIOD_MS = 5_000
const KEEPS_ALL = 'noeviction'
const POLICY = /^maxmemory_policy:(\S+)/m

/** `policy`: what Redis does when its memory is full; null while it is not known. */
export type RedisState = { isUp: boolean; policy: string | null }

/** Each is called once when it begins or ends, whatever the number of failures. `onPolicy`: Redis may evict messages, or does so no more. */
export type RedisNews = {
  onError: (error: unknown) => void
  onUp?: () => void
  onPolicy?: (policy: string, keepsAll: boolean) => void
}

export type RedisWatch = {
  state(): RedisState
  /** Looks now, and from then on regularly: a connection needs a moment until it can be asked. */
  begin(): void
  /** A connection has failed, perhaps because Redis has. */
  failed(error: Error): void
  stop(): Promise<void>
}

/**
 * Asks Redis every five seconds whether it works, because one that hangs shows nothing by itself: jobs are found without it. `connections`: their
 * failures lead to a look at once.
 */
export function watchRedis(
  asked: Connection,
  connections: readonly Connection[],
  { onError, onUp = () => {}, onPolicy = () => {} }: RedisNews,
  periodMs: number = PERIOD_MS,
): RedisWatch {
  let isUp: boolean | undefined
  let policy: string | null = null
  let isTold = true
  /** Says more than that a command has failed: that the connection was refused, or the password. */
  let latest: Error | undefined
  const known = new Set<string>()

  function up(info: string): void {
    if (isUp === false) onUp()
    isUp = true
    const now = POLICY.exec(info)?.[1] ?? policy
    const keepsAll = now === null || now === KEEPS_ALL
    if (now !== null && keepsAll !== isTold) onPolicy(now, keepsAll)
    isTold = keepsAll
    policy = now
    // Redis works, but something of it does not, for one of the connections.
    if (latest && !known.has(latest.message)) {
      known.add(latest.message)
      onError(latest)
    }
    latest = undefined
  }

  function down(error: unknown): void {
    const why = latest ?? error
    latest = undefined
    known.clear()
    if (isUp !== false) onError(why)
    isUp = false
  }

  let looking: ReturnType<typeof periodic> | undefined
  function begin(): void {
    looking ??= periodic({
      periodMs,
      work: async () => up(await asked.info('memory').catch(withoutPermission)),
      onFailure: down,
    })
    looking.begin()
  }

  function failed(error: Error): void {
    if (isUp === false) return
    latest = error
    if (isUp) begin()
  }
  // Without a listener the first failure would end the process.
  for (const connection of connections) connection.on('error', failed)
  return { state: () => ({ isUp: isUp === true, policy }), begin, failed, stop: async () => looking?.stop() }
}

/** A user of Redis who may not ask for its state gets an answer, too. */
function withoutPermission(error: Error): string {
  if (error.message.startsWith('NOPERM')) return ''
  throw error
}
