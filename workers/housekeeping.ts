import type { Logger } from 'pino'
import { RETENTION } from '../domain/reconciliation/retention.ts'
import type { Db, Pool } from '../store/connect.ts'

const PERIOD_MS = 600_000
/** Rows that one statement removes: it locks them for less than a second. */
const BATCH = 10_000

/** Removes everything whose time is over, kind after kind, in batches. Resolves to how many rows of each kind. */
export async function dropExpired(db: Db, isStopping = () => false, batch = BATCH): Promise<Record<string, number>> {
  const dropped: Record<string, number> = {}
  for (const { kind, drop } of RETENTION) {
    dropped[kind] = 0
    for (let count = batch; count === batch && !isStopping(); ) {
      count = await drop(db, batch)
      dropped[kind] += count
    }
  }
  return dropped
}

/** Runs `dropExpired` every ten minutes. Nothing depends on when it runs, so it needs no job. */
export function startHousekeeping(pool: Pool, log: Logger) {
  let stopping = false
  const clean = async () => {
    const dropped = await dropExpired(pool, () => stopping)
    if (Object.values(dropped).some(count => count > 0)) log.info(dropped, 'removed what has expired')
  }
  let current = Promise.resolve()
  const timer = setInterval(() => {
    current = clean().catch(error => log.warn({ err: error }, 'housekeeping failed'))
  }, PERIOD_MS)
  return {
    async stop(): Promise<void> {
      stopping = true
      clearInterval(timer)
      await current
    },
  }
}
