import type { Logger } from 'pino'
import type { Secrets } from '../domain/projects/secrets.ts'
import { endPushMissing } from '../domain/purchases/store-inbox/push-missing.ts'
import { createSweep, dueSweeps, failSweep, takeSweep, unsweptStores } from '../domain/purchases/store-inbox/sweeps.ts'
import type { StorePlatform } from '../domain/purchases/stores/config.ts'
import { openStore } from '../domain/purchases/stores/settings.ts'
import type { Pool, Tx } from '../store/connect.ts'
import { classifyFailure } from '../store/failures.ts'
import { type AtCrashPoint, NOWHERE } from '../workflows/engine/crash-point.ts'
import { runSweep } from '../workflows/stores/sweep/run-sweep.ts'
import type { Sweeps } from '../workflows/stores/sweep/sweep.ts'
import { periodic } from './periodic.ts'

const PERIOD_MS = 15_000
/** Sweeps at a time. Each one holds a connection during its fetch from a store. */
const AT_ONCE = 2
/** Rows that are read at once: more than other processes can have taken. */
const DUE_READ = 200

export type StoreSweepsOptions = { pool: Pool; secrets: Secrets; sweeps: Sweeps; log: Logger; periodMs?: number; at?: AtCrashPoint }

/**
 * Fetches hourly from the stores the notifications that no push has brought. Every process looks for sweeps that are due, and one session
 * of the database at a time has a sweep: when a process ends, for whatever reason, another process repeats its sweep.
 */
export function startStoreSweeps({ pool, secrets, sweeps, log, periodMs = PERIOD_MS, at = NOWHERE }: StoreSweepsOptions) {
  const platforms = Object.keys(sweeps) as StorePlatform[]
  const stopping = new AbortController()
  const running = new Map<number, Promise<void>>()

  /** Rows of stores that have been connected since the last look. */
  async function createSweeps(): Promise<void> {
    for (const unswept of await unsweptStores(pool, platforms)) {
      if (sweeps[unswept.platform]!.isForBoth && unswept.kind === 'sandbox') continue
      const store = await openStore(pool, secrets, unswept.project, unswept.platform)
      if (store?.isConnected(unswept.kind)) await createSweep(pool, unswept)
    }
  }

  async function sweepWith(session: Tx, id: number): Promise<void> {
    const row = await takeSweep(session, id)
    if (!row) return
    const { project, platform, kind: environment } = row
    try {
      const result = await runSweep({ pool, secrets, sweeps, at }, session, row, stopping.signal)
      if (result.is === 'failed') log.warn({ project, platform, environment, why: result.why }, 'a sweep of a store failed; it is repeated')
      else if (result.found > 0)
        log.info({ project, platform, environment, found: result.found }, 'a sweep of a store found notifications that no push had brought')
    } catch (error) {
      if (stopping.signal.aborted) return
      // A defect must not repeat with every check. When the database has failed, this statement fails too.
      if (classifyFailure(error) === 'other') await failSweep(session, id, 'defect', null)
      throw error
    }
  }

  /** The session ends with the sweep, and with it the lock. */
  async function sweep(id: number): Promise<void> {
    const session = await pool.connect()
    try {
      await sweepWith(session, id)
    } finally {
      session.release(true)
    }
  }

  async function look(): Promise<void> {
    await endPushMissing(pool)
    await createSweeps()
    for (const id of await dueSweeps(pool, platforms, DUE_READ)) {
      if (stopping.signal.aborted) return
      if (running.has(id)) continue
      const one = sweep(id)
        .catch(error => log.warn({ err: error, sweep: id }, 'a sweep of a store failed; it is repeated'))
        .finally(() => running.delete(id))
      running.set(id, one)
      if (running.size >= AT_ONCE) await Promise.race(running.values())
    }
  }

  const looking = periodic({ periodMs, work: look, onFailure: error => log.warn({ err: error }, 'looking for sweeps of stores failed') })
  looking.begin()
  return {
    /** Checks now, unless a check is under way. */
    begin: looking.begin,
    /** Aborts a sweep that is under way; another process repeats it. */
    async stop(): Promise<void> {
      stopping.abort()
      await looking.stop()
      await Promise.all(running.values())
    },
  }
}
