import type { Pool } from '../../../store/connect.ts'
import { dropOldCauses } from '../../analytics/facts/erased.ts'
import { dropOldGenerations, dropTombstones } from '../../analytics/facts/retention.ts'
import { removeUnusedVocabulary } from '../../analytics/facts/unused-vocabulary.ts'
import { dropOldAutomationRuns, dropOldVersions } from '../../automations/automation-runs/retention.ts'
import { dropOldRuns } from '../../durable/jobs/workflow-run.ts'
import { compactLedger } from '../../durable/ledger-history/compact.ts'
import { dropSetAside } from '../../durable/log/set-aside.ts'
import { dropExpiredScreens } from '../../growth/pending-screens/pending-screen.ts'
import { dropDeletedIntegrations, dropOldDeliveries } from '../../integrations/deliveries/retention.ts'
import { dropOldAudit } from '../../kernel/audit/retention.ts'
import type { Environment } from '../../kernel/environment.ts'
import { dropOldAnswers } from '../../kernel/idempotent-answers.ts'
import { RETENTION_DAYS, type RetentionDays } from '../../kernel/retention-days.ts'
import { dropUnusedClients } from '../../operators/grants/clients.ts'
import { dropExpiredTokens, dropOldCalls, dropOldGrants } from '../../operators/mcp-calls/retention.ts'
import { dropOldAttempts } from '../../purchases/attempts/attempt.ts'
import { dropOldNotifications } from '../../purchases/store-inbox/pending.ts'
import { dropDeletedReports, dropOldReportRuns } from '../../reporting/reports/retention.ts'
import { dropOldAlerts } from '../alerts/alert.ts'

type Dropping = { days: RetentionDays; isStopping: () => boolean }

/**
 * Rows that are kept for a time. `drop` removes at most `batch` of the expired ones, of all environments or of one, and returns their
 * number. `days`: what the operator has chosen. `isRealTime`: the time is real time, so the test clock of a sandbox does not change it. Only a long `drop` checks `isStopping`.
 */
type Retention = {
  kind: string
  isRealTime?: boolean
  drop(pool: Pool, batch: number, environment: Environment | null, { days, isStopping }: Dropping): Promise<number>
}

/** Everything that is kept for a time; how long stands beside each `drop`, or in the `days`. The files of exports have a run of their own that removes them. */
const RETENTION: readonly Retention[] = [
  { kind: 'idempotentAnswers', isRealTime: true, drop: dropOldAnswers },
  { kind: 'workflowRuns', drop: dropOldRuns },
  { kind: 'alerts', drop: dropOldAlerts },
  { kind: 'auditEntries', drop: (pool, batch, environment, { days }) => dropOldAudit(pool, batch, environment, days.auditLog) },
  { kind: 'mcpCalls', isRealTime: true, drop: dropOldCalls },
  { kind: 'mcpTokens', isRealTime: true, drop: dropExpiredTokens },
  { kind: 'mcpGrants', isRealTime: true, drop: dropOldGrants },
  { kind: 'oauthClients', isRealTime: true, drop: dropUnusedClients },
  {
    kind: 'automationRuns',
    drop: (pool, batch, environment, { days }) => dropOldAutomationRuns(pool, batch, environment, days.automationRuns),
  },
  { kind: 'automationVersions', drop: dropOldVersions },
  { kind: 'deliveries', drop: (pool, batch, environment, { days }) => dropOldDeliveries(pool, batch, environment, days.deliveries) },
  { kind: 'integrations', drop: dropDeletedIntegrations },
  { kind: 'reportRuns', drop: (pool, batch, environment, { days }) => dropOldReportRuns(pool, batch, environment, days.reportRuns) },
  { kind: 'reports', drop: dropDeletedReports },
  { kind: 'pendingScreens', drop: dropExpiredScreens },
  { kind: 'purchaseAttempts', drop: dropOldAttempts },
  { kind: 'ledgerCounts', drop: compactLedger },
  // Before the tombstones by which unused words are noticed are deleted.
  {
    kind: 'words',
    isRealTime: true,
    drop: (pool, batch, environment, { isStopping }) => removeUnusedVocabulary(pool, batch, environment, isStopping),
  },
  { kind: 'tombstones', isRealTime: true, drop: dropTombstones },
  { kind: 'factGenerations', isRealTime: true, drop: dropOldGenerations },
  { kind: 'causes', drop: dropOldCauses },
  { kind: 'setAside', isRealTime: true, drop: dropSetAside },
  { kind: 'storeNotifications', isRealTime: true, drop: dropOldNotifications },
]

/** Rows that one statement removes: it locks them for less than a second. */
const BATCH = 10_000

export type DropOptions = {
  /** Absent: the days of an installation without settings. */
  days?: RetentionDays | undefined
  batch?: number | undefined
  isStopping?: (() => boolean) | undefined
  /** Called after each batch. */
  beat?: (() => Promise<unknown>) | undefined
  /** Only what this environment keeps by its own clock. */
  environment?: Environment | undefined
  /** Absent: the first failure is thrown when the other kinds are done. */
  onFailure?: ((kind: string, error: unknown) => void) | undefined
}

/**
 * Removes everything whose time is over. All kinds take turns, one batch each, so that none waits for the backlog of another; a kind that
 * fails ends its turns and stops no other. Resolves to how many rows of each kind.
 */
export async function dropExpired(pool: Pool, options: DropOptions = {}): Promise<Record<string, number>> {
  const { days = RETENTION_DAYS, batch = BATCH, isStopping = () => false, environment = null, beat, onFailure } = options
  const dropped: Record<string, number> = {}
  const failures: unknown[] = []
  let left = RETENTION.filter(({ isRealTime }) => environment === null || !isRealTime)
  for (const { kind } of left) dropped[kind] = 0
  while (left.length > 0) {
    const more: Retention[] = []
    for (const retention of left) {
      if (isStopping()) return dropped
      const { kind, drop } = retention
      try {
        const count = await drop(pool, batch, environment, { days, isStopping })
        dropped[kind]! += count
        if (count >= batch) more.push(retention)
      } catch (error) {
        if (onFailure) onFailure(kind, error)
        else failures.push(error)
      }
      await beat?.()
    }
    left = more
  }
  if (failures.length > 0) throw failures[0]
  return dropped
}
