import type { Logger } from 'pino'
import { outdatedEnvironment, rebuildFacts } from '../domain/analytics/folding/rebuild.ts'
import type { Pool } from '../store/connect.ts'
import { periodic } from './periodic.ts'

const PERIOD_MS = 15_000

export type FactRebuildOptions = { pool: Pool; log: Logger; periodMs?: number }

/** Rebuilds the facts of environments that were folded by the rules of an earlier version, one environment after the other. */
export function startFactRebuild({ pool, log, periodMs = PERIOD_MS }: FactRebuildOptions) {
  let stopping = false
  const rebuild = async () => {
    while (!stopping) {
      const environment = await outdatedEnvironment(pool)
      if (environment === null) return
      const rebuilt = await rebuildFacts(pool, environment, { isStopping: () => stopping })
      if (rebuilt.is !== 'done') return
      log.info({ environment, users: rebuilt.users, differences: rebuilt.differences }, 'facts were rebuilt by the rules of this version')
    }
  }
  const looking = periodic({
    periodMs,
    work: rebuild,
    onFailure: error => log.error({ err: error }, 'facts cannot be rebuilt; the former ones stay'),
  })
  looking.begin()
  return {
    stop(): Promise<void> {
      stopping = true
      return looking.stop()
    },
  }
}
