import type { Pool } from '../../../store/connect.ts'
import { CANCEL_DUE, cancelMore } from '../../automations/automation-runs/cancel.ts'
import { RUN_RELEASE_DUE, releaseMoreRuns } from '../../automations/automation-runs/release.ts'
import { continueFailPending, DELETION_DUE } from '../../integrations/deliveries/fail-pending.ts'
import { PROBE_DUE, probeHeld } from '../../integrations/deliveries/probe.ts'
import { continueRelease, RELEASE_DUE } from '../../integrations/deliveries/release.ts'
import { passTime } from '../../purchases/pass-time.ts'
import { markRateChanges, RATES_DUE } from '../../purchases/rates/changes.ts'
import { SUBSCRIPTION_DUE } from '../../purchases/subscriptions/store.ts'
import { REPORT_SLOT_DUE } from '../../reporting/reports/report.ts'
import { takeSlot, takeSlots } from '../../reporting/reports/take-slots.ts'
import { RESET_DUE } from '../sandbox/removals.ts'
import { resetMore } from '../sandbox/reset.ts'

/**
 * A kind of job that one transaction executes. `fire` executes a due job once and skips a job that is not (or no longer) due.
 * `fireTogether` executes many jobs in fewer transactions and returns the ids that it has not executed.
 */
type DomainTimer = {
  kind: string
  fire(pool: Pool, id: number): Promise<unknown>
  fireTogether?(pool: Pool, ids: number[]): Promise<number[]>
}

/** All kinds, in the order in which the test clock fires the jobs of one instant. Without a test clock the workers fire them. */
export const TIMERS: DomainTimer[] = [
  { kind: CANCEL_DUE, fire: cancelMore },
  { kind: RUN_RELEASE_DUE, fire: releaseMoreRuns },
  { kind: REPORT_SLOT_DUE, fire: takeSlot, fireTogether: takeSlots },
  { kind: PROBE_DUE, fire: probeHeld },
  { kind: RELEASE_DUE, fire: continueRelease },
  { kind: DELETION_DUE, fire: continueFailPending },
  { kind: RATES_DUE, fire: markRateChanges },
  { kind: SUBSCRIPTION_DUE, fire: passTime },
  { kind: RESET_DUE, fire: resetMore },
]
