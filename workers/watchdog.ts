import type { Logger } from 'pino'
import { type Drift, OVERDUE_SECONDS, readDrift, recordWatch, tryWatch } from '../domain/jobs/drift.ts'
import { mendOrphans, type ScanCursors } from '../domain/reconciliation/orphans.ts'
import { LOCK } from '../store/advisory-locks.ts'
import type { Pool, Tx } from '../store/connect.ts'

const PERIOD_MS = 15_000
/** Unfinished things of each kind that one look goes through: some 50 ms. */
const AT_ONCE = 20_000
/** Ids that a line of the log names. */
const NAMED = 20

export type WatchdogOptions = { pool: Pool; log: Logger; periodMs?: number }

/** What is wrong, in words that stay the same as long as the same is wrong. */
function complaints({ late, lag, setAside }: Drift): string[] {
  return [
    ...late.filter(({ overdue }) => overdue > 0).map(({ kind }) => `promises of kind ${kind} are overdue`),
    ...late.filter(({ abandoned }) => abandoned > 0).map(({ kind }) => `leases of kind ${kind} have run out and nobody has taken them up`),
    ...lag.filter(({ seconds }) => seconds > OVERDUE_SECONDS).map(({ consumer }) => `${consumer} read the log late`),
    ...setAside.map(({ consumer }) => `events were set aside by ${consumer}`),
  ]
}

/**
 * Looks every 15 s whether everything promised moves, says so once when that changes, and mends what nothing would have moved. One
 * process at a time does it, whoever comes first; when that one goes, another one comes.
 */
export function startWatchdog({ pool, log, periodMs = PERIOD_MS }: WatchdogOptions) {
  let stopped = false
  let connection: Tx | undefined
  let known = ''
  const places: ScanCursors = new Map()

  async function isOurs(): Promise<boolean> {
    if (connection) {
      await connection.query('select 1')
      return true
    }
    const client = await pool.connect()
    if (await tryWatch(client, LOCK.watchdog).catch(() => false)) {
      // A connection that breaks takes the lock with it: somebody else may have it by then.
      client.on('error', () => {})
      connection = client
    } else client.release()
    return connection !== undefined
  }

  function tell(drift: Drift): void {
    const wrong = complaints(drift)
    const now = wrong.join('; ')
    if (now === known) return
    known = now
    if (now === '') log.info('everything promised moves again')
    else log.warn({ ...drift }, now)
  }

  async function look(): Promise<void> {
    if (!(await isOurs())) return
    const orphans = await mendOrphans(pool, places, AT_ONCE)
    for (const { kind, ids, mended } of orphans)
      log.error({ kind, ids: ids.slice(0, NAMED), found: ids.length, mended }, 'promises that nothing would have moved were found')
    const sum = (of: (one: (typeof orphans)[number]) => number) => orphans.reduce((total, one) => total + of(one), 0)
    await recordWatch(pool, { orphans: sum(({ ids, mended }) => ids.length - mended), repaired: sum(({ mended }) => mended) })
    tell(await readDrift(pool))
  }

  function letGo(): void {
    const client = connection
    connection = undefined
    // Closed, not given back: the lock ends with it.
    client?.release(true)
  }

  let current = Promise.resolve()
  let isLooking = false
  const turn = () => {
    if (isLooking || stopped) return
    isLooking = true
    current = look()
      .catch(error => {
        letGo()
        log.warn({ err: error }, 'looking after what is promised failed')
      })
      .finally(() => {
        isLooking = false
      })
  }
  const timer = setInterval(turn, periodMs)
  return {
    async stop(): Promise<void> {
      stopped = true
      clearInterval(timer)
      await current
      letGo()
    },
  }
}
