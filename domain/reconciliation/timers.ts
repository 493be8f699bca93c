import type { Pool } from '../../store/connect.ts'
import { CANCEL_DUE, cancelMore } from '../automation-runs/cancel.ts'
import { DELETION_DUE, failPendingMore } from '../deliveries/fail-pending.ts'
import { PROBE_DUE, probeOldest } from '../deliveries/probe.ts'
import { RELEASE_DUE, releaseMore } from '../deliveries/release.ts'
import { passTime } from '../purchases/pass-time.ts'
import { REPORT_SLOT } from '../reports/report.ts'
import { takeSlot, takeSlots } from '../reports/take-slots.ts'
import { SUBSCRIPTION_DUE } from '../subscriptions/store.ts'

/**
 * A kind of promise that one transaction keeps. `fire` does what is due, once, and passes over what is not (or no longer) due;
 * `fireTogether` does many of them in fewer transactions, and gives back those that it has not done.
 */
export type DomainTimer = {
  kind: string
  fire(pool: Pool, id: number): Promise<unknown>
  fireTogether?(pool: Pool, ids: number[]): Promise<number[]>
}

/** All of them, in the order in which those of one instant are kept: what workers fire, the test clock fires by itself. */
export const TIMERS: DomainTimer[] = [
  { kind: CANCEL_DUE, fire: cancelMore },
  { kind: REPORT_SLOT, fire: takeSlot, fireTogether: takeSlots },
  { kind: PROBE_DUE, fire: probeOldest },
  { kind: RELEASE_DUE, fire: releaseMore },
  { kind: DELETION_DUE, fire: failPendingMore },
  { kind: SUBSCRIPTION_DUE, fire: passTime },
]
