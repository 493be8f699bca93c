import type { Redis } from 'ioredis'
import { periodic } from './periodic.ts'

/** Between two looks: a Redis that hangs is noticed within this time and the limit of a command. */
const PERIOD_MS = 5_000
const KEEPS_ALL = 'noeviction'
const POLICY = /^maxmemory_policy:(\S+)/m
/** Ids of messages and jobs, and the digests of scripts. */
const NUMBERS = /\b[0-9a-f]{8,}\b|\d+/g
const REPORT_AGAIN_MS = 3_600_000

/** `policy`: what Redis does when its memory is full; null while it is not known. */
export type RedisState = { isUp: boolean; policy: string | null }

/**
 * Each is called once when it begins or ends, whatever the number of failures. `onFailure`: something of Redis has failed while Redis works; of failures
 * that differ by their numbers alone once an hour. `onPolicy`: Redis may evict messages, or does so no more.
 */
export type RedisNews = {
  onError: (error: unknown) => void
  onFailure?: (error: unknown) => void
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
 * `key`: one of the installation. `explain`: finds what is behind the failure that `onError` is told.
 */
export type RedisWatchOptions = RedisNews & { key: string; periodMs?: number | undefined; explain?: (error: Error) => Promise<Error> }

/**
 * Asks Redis every five seconds whether it works, because one that hangs shows nothing by itself: jobs are found without it. `connections`: their
 * failures lead to a look at once.
 */
export function watchRedis(
  asked: Redis,
  connections: readonly Redis[],
  {
    key,
    periodMs = PERIOD_MS,
    explain = async error => error,
    onError,
    onFailure = () => {},
    onUp = () => {},
    onPolicy = () => {},
  }: RedisWatchOptions,
): RedisWatch {
  let isUp: boolean | undefined
  let policy: string | null = null
  let wasSafe = true
  /** Says more than that a command has failed: that the connection was refused, or the password. */
  let lastError: Error | undefined
  /** When a failure was reported last, by its text. */
  const reported = new Map<string, number>()

  function up(info: string): void {
    if (isUp === false) onUp()
    isUp = true
    const now = POLICY.exec(info)?.[1] ?? policy
    const isSafe = now === null || now === KEEPS_ALL
    if (now !== null && isSafe !== wasSafe) onPolicy(now, isSafe)
    wasSafe = isSafe
    policy = now
    if (lastError) report(lastError)
    lastError = undefined
  }

  /** Redis works, but something of it does not, for one of the connections. */
  function report(error: Error): void {
    const text = error.message.replace(NUMBERS, '#')
    const before = reported.get(text)
    if (before !== undefined && performance.now() - before < REPORT_AGAIN_MS) return
    reported.set(text, performance.now())
    onFailure(error)
  }

  async function down(error: Error): Promise<void> {
    const why = lastError ?? error
    lastError = undefined
    reported.clear()
    const isNew = isUp !== false
    isUp = false
    if (isNew) onError(await explain(why))
  }

  let looking: ReturnType<typeof periodic> | undefined
  function begin(): void {
    looking ??= periodic({
      periodMs,
      work: async () => {
        try {
          await asked.exists(key).catch(allowsRefusal)
        } catch (error) {
          return down(error as Error)
        }
        // Not every user, nor every service, may ask for it.
        up(await asked.info('memory').catch(() => ''))
      },
      onFailure: onError,
    })
    looking.begin()
  }

  function failed(error: Error): void {
    if (isUp === false) return
    lastError = error
    if (isUp) begin()
  }
  // Without a listener the first failure would end the process.
  for (const connection of connections) connection.on('error', failed)
  return { state: () => ({ isUp: isUp === true, policy }), begin, failed, stop: async () => looking?.stop() }
}

/** A user of Redis who may not read the key gets an answer, too. */
function allowsRefusal(error: Error): void {
  if (!error.message.startsWith('NOPERM')) throw error
}
