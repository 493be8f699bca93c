import type { Logger } from 'pino'
import type { RetentionDays } from '../domain/kernel/retention-days.ts'
import { dropExpired } from '../domain/oversight/reconciliation/retention.ts'
import type { Pool } from '../store/connect.ts'
import { periodic } from './periodic.ts'

const PERIOD_MS = 600_000

export type HousekeepingOptions = { pool: Pool; log: Logger; days?: RetentionDays; periodMs?: number }

/** Runs `dropExpired` every ten minutes, never two at once. Nothing depends on when it runs, so it needs no job. */
export function startHousekeeping({ pool, log, days, periodMs = PERIOD_MS }: HousekeepingOptions) {
  let stopping = false
  const clean = async () => {
    const dropped = await dropExpired(pool, {
      days,
      isStopping: () => stopping,
      onFailure: (kind, error) => log.warn({ kind, err: error }, 'a retention failed; the others go on'),
    })
    if (Object.values(dropped).some(count => count > 0)) log.info(dropped, 'removed what has expired')
  }
  const cleaning = periodic({ periodMs, work: clean, onFailure: error => log.warn({ err: error }, 'housekeeping failed') })
  return {
    stop(): Promise<void> {
      stopping = true
      return cleaning.stop()
    },
  }
}
