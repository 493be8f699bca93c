import type { Logger } from 'pino'
import { dropOldAudit } from '../domain/audit/retention.ts'
import { dropOldAnswers } from '../domain/idempotent-answers.ts'
import { dropOldRuns } from '../domain/runs/retention.ts'
import type { Pool } from '../store/connect.ts'

const PERIOD_MS = 600_000

/** Removes what nobody can ask for any more. Nothing depends on when it runs, so it needs no promise. */
export function startHousekeeping(pool: Pool, log: Logger) {
  let stopping = false
  const clean = async () => {
    const answers = await dropOldAnswers(pool)
    const runs = await dropOldRuns(pool)
    let entries = 0
    for (let more = true; more && !stopping; ) {
      const batch = await dropOldAudit(pool)
      entries += batch.dropped
      more = batch.more
    }
    if (answers + runs + entries > 0) log.info({ answers, runs, entries }, 'removed what has expired')
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
