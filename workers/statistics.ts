import type { Logger } from 'pino'
import { analyzeGrown } from '../store/analyze.ts'
import type { Pool } from '../store/connect.ts'
import { periodic } from './periodic.ts'

/** The interval between two checks: an import fills tables within seconds, and a check reads some dozens of rows of the catalogue. */
const PERIOD_MS = 15_000

/**
 * Keeps the planner's statistics near the size of the tables, at once and every 15 s. Autovacuum does it a minute later at best, and after a
 * crash of the server much later.
 */
export function startStatistics(pool: Pool, log: Logger) {
  const { begin, stop } = periodic({
    periodMs: PERIOD_MS,
    async work() {
      const tables = await analyzeGrown(pool)
      if (tables.length > 0) log.info({ tables }, 'analyzed tables that had grown')
    },
    onFailure: error => log.warn({ err: error }, 'analyzing tables failed'),
  })
  begin()
  return { stop }
}
