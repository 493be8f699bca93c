import type { Db } from '../../store/connect.ts'
import { dropOldAudit } from '../audit/retention.ts'
import { dropOldAutomationRuns } from '../automation-runs/retention.ts'
import { dropOldDeliveries } from '../deliveries/retention.ts'
import { dropOldAnswers } from '../idempotent-answers.ts'
import { dropOldRuns } from '../jobs/workflow-run.ts'
import { dropSetAside } from '../log/set-aside.ts'
import { dropExpiredScreens } from '../pending-screens/pending-screen.ts'
import { dropOldReportRuns } from '../reports/retention.ts'

/** Rows that are kept for a time. `drop` removes at most `batch` of those whose time is over, and returns how many. */
type Retention = { kind: string; drop(db: Db, batch: number): Promise<number> }

/** Everything that is kept for a time; how long stands beside each `drop`. The files of exports have a run of their own that removes them. */
export const RETENTION: readonly Retention[] = [
  { kind: 'idempotentAnswers', drop: dropOldAnswers },
  { kind: 'workflowRuns', drop: dropOldRuns },
  { kind: 'auditEntries', drop: dropOldAudit },
  { kind: 'automationRuns', drop: dropOldAutomationRuns },
  { kind: 'deliveries', drop: dropOldDeliveries },
  { kind: 'reportRuns', drop: dropOldReportRuns },
  { kind: 'pendingScreens', drop: dropExpiredScreens },
  { kind: 'setAside', drop: dropSetAside },
]
