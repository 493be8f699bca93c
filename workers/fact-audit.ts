import type { Logger } from 'pino'
import { auditFacts } from '../domain/analytics/folding/audit.ts'
import type { Pool } from '../store/connect.ts'
import { periodic } from './periodic.ts'

/** How often a worker checks whether the audit of this minute is due. An audit is at most this late when another worker ends. */
const PERIOD_MS = 15_000
/** The most users in a line of the log. */
const LOGGED_USERS = 20

export type FactAuditOptions = { pool: Pool; log: Logger; periodMs?: number }

/** Compares the stored facts of some random users with a new fold, once a minute, and marks the users that differ. */
export function startFactAudit({ pool, log, periodMs = PERIOD_MS }: FactAuditOptions) {
  let stopping = false
  const audit = async () => {
    const found = await auditFacts({ pool, isStopping: () => stopping })
    if (!found || found.drifted.length === 0) return
    const { compared, drifted } = found
    const users = drifted.slice(0, LOGGED_USERS).map(({ environment, no }) => ({ environment, user: no }))
    log.error({ compared, drifted: drifted.length, users }, 'stored facts differ from a new fold; the users are folded again')
  }
  const looking = periodic({ periodMs, work: audit, onFailure: error => log.warn({ err: error }, 'the audit of facts failed') })
  return {
    stop(): Promise<void> {
      stopping = true
      return looking.stop()
    },
  }
}
