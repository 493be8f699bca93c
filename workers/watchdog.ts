import type { Logger } from 'pino'
import { jobFloors } from '../domain/durable/jobs/floors.ts'
import { OVERDUE_SECONDS } from '../domain/durable/jobs/job.ts'
import { HELD_SECONDS } from '../domain/integrations/deliveries/held.ts'
import { scanAlerts } from '../domain/oversight/alerts/scan.ts'
import { type Drift, readDrift, recordWatch, tryWatch } from '../domain/oversight/reconciliation/drift.ts'
import { repairOrphans, type ScanCursors } from '../domain/oversight/reconciliation/orphans.ts'
import { LOCK } from '../store/advisory-locks.ts'
import type { Pool, Tx } from '../store/connect.ts'
import { periodic } from './periodic.ts'

const PERIOD_MS = 15_000
/** Unfinished rows of each kind that one check reads: some 50 ms. */
const SCANNED = 20_000
/** The server closes the connection of a watchdog that is silent for this long: a frozen process must not keep the lock from the others. */
const SILENT_MS = 60_000
/** The most ids in a line of the log. */
const LOGGED_IDS = 20

export type WatchdogOptions = { pool: Pool; log: Logger; periodMs?: number }

const ALERTS: Record<string, string> = {
  store_credentials: 'a store does not accept the credentials of a project',
  push_missing: 'pushes of a store do not arrive',
}

/** The problems, in sentences that stay the same as long as the problems do. */
function complaints({ late, held, lag, setAside, unremoved, failedReportRuns, facts, stores }: Drift): string[] {
  return [
    ...late.filter(({ overdue }) => overdue > 0).map(({ kind }) => `jobs of kind ${kind} are overdue`),
    ...late
      .filter(({ abandoned }) => abandoned > 0)
      .map(({ kind }) => `jobs of kind ${kind} have an expired lease and no worker has claimed them`),
    ...late.filter(({ unknown }) => unknown > 0).map(({ kind }) => `no worker knows the jobs of kind ${kind}`),
    ...(held.seconds > HELD_SECONDS ? ['deliveries are held: an integration is in error'] : []),
    ...lag.filter(({ seconds }) => seconds > OVERDUE_SECONDS).map(({ consumer }) => `${consumer} lags behind the log`),
    ...setAside.map(({ consumer }) => `events were set aside by ${consumer}`),
    ...(unremoved.files > 0 ? ['the storage fails to remove files of exports'] : []),
    ...(failedReportRuns > 0 ? ['runs of reports have failed'] : []),
    ...(facts.oldest_seconds > OVERDUE_SECONDS ? ['the facts of figures are folded too late'] : []),
    ...(facts.set_aside > 0 ? ['the facts of users cannot be folded'] : []),
    ...(facts.drifted > 0 ? ['stored facts differed from a new fold'] : []),
    ...stores.pending
      .filter(({ late_seconds }) => late_seconds > OVERDUE_SECONDS)
      .map(({ platform }) => `notifications of ${platform} are not worked on`),
    ...stores.setAside.map(({ platform }) => `notifications of ${platform} were set aside`),
    ...(stores.unacknowledged > 0 ? ['purchases are not acknowledged at Google Play'] : []),
    ...stores.alerts.map(({ alert }) => ALERTS[alert] ?? alert),
  ]
}

/**
 * Checks every 15 s for jobs that do not move, logs a line when the result changes, repairs orphans, and begins and ends the alerts of
 * projects. One process at a time has the lock of the watchdog; when that process ends, another process takes the lock.
 */
export function startWatchdog({ pool, log, periodMs = PERIOD_MS }: WatchdogOptions) {
  let connection: Tx | undefined
  let known = ''
  const cursors: ScanCursors = new Map()
  const floors = jobFloors(pool)

  async function tryLock(): Promise<boolean> {
    if (connection) {
      await connection.query('select 1')
      return true
    }
    const client = await pool.connect()
    if (await tryWatch(client, LOCK.watchdog, SILENT_MS).catch(() => false)) {
      // The lock ends with the connection: another process may have it by then.
      client.on('error', () => {})
      connection = client
    } else client.release()
    return connection !== undefined
  }

  function report(drift: Drift): void {
    const wrong = complaints(drift)
    const now = wrong.join('; ')
    if (now === known) return
    known = now
    if (now === '') log.info('all jobs move again')
    else log.warn({ ...drift }, now)
  }

  async function look(): Promise<void> {
    if (!(await tryLock())) return
    const orphans = await repairOrphans(pool, cursors, SCANNED)
    for (const { kind, ids, mended } of orphans)
      log.error({ kind, ids: ids.slice(0, LOGGED_IDS), found: ids.length, mended }, 'orphans were found: unfinished work without a job')
    const sum = (of: (one: (typeof orphans)[number]) => number) => orphans.reduce((total, one) => total + of(one), 0)
    await recordWatch(pool, { orphans: sum(({ ids, mended }) => ids.length - mended), repaired: sum(({ mended }) => mended) })
    await floors.refresh()
    report(await readDrift(pool, floors.current()))
    // Last: nothing else depends on it.
    await scanAlerts(pool).catch(error => log.warn({ err: error }, 'the scan for alerts failed; the next one repeats it'))
  }

  function releaseLock(): void {
    const client = connection
    connection = undefined
    // Closed instead of returned to the pool: the lock ends with the connection.
    client?.release(true)
  }

  const looking = periodic({
    periodMs,
    work: look,
    onFailure(error) {
      releaseLock()
      log.warn({ err: error }, 'the watchdog failed')
    },
  })
  return {
    async stop(): Promise<void> {
      await looking.stop()
      releaseLock()
    },
  }
}
