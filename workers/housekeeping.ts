import type { Logger } from 'pino'
import { dropOldAudit } from '../domain/audit/retention.ts'
import { dropOldAutomationRuns } from '../domain/automation-runs/retention.ts'
import { dropOldDeliveries } from '../domain/deliveries/retention.ts'
import { dropOldAnswers } from '../domain/idempotent-answers.ts'
import { dropOldRuns } from '../domain/jobs/workflow-run.ts'
import { dropSetAside } from '../domain/log/set-aside.ts'
import { dropLapsedScreens } from '../domain/pending-screens/pending-screen.ts'
import { dropOldReportRuns } from '../domain/reports/retention.ts'
import type { Db, Pool } from '../store/connect.ts'

const PERIOD_MS = 600_000
/** Rows that one statement removes: it locks them for less than a second. */
const AT_ONCE = 10_000

/** What is kept for a time, and what removes it, at most so many at once. */
const KEPT: Record<string, (db: Db, batch: number) => Promise<number>> = {
  automationRuns: dropOldAutomationRuns,
  deliveries: dropOldDeliveries,
  reportRuns: dropOldReportRuns,
  pendingScreens: dropLapsedScreens,
  setAside: dropSetAside,
}

/** Removes what has been kept long enough, until there is nothing of it left. Resolves to how much of each kind. */
export async function dropExpired(db: Db, isStopping = () => false, batch = AT_ONCE): Promise<Record<string, number>> {
  const dropped: Record<string, number> = {}
  for (const [what, drop] of Object.entries(KEPT)) {
    dropped[what] = 0
    for (let some = batch; some === batch && !isStopping(); ) {
      some = await drop(db, batch)
      dropped[what] += some
    }
  }
  return dropped
}

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
    const dropped = { answers, runs, entries, ...(await dropExpired(pool, () => stopping)) }
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
