import { type Schedule, type Slot, slotsAfter } from './slots.ts'

export type MissedPolicy = 'once' | 'all' | 'skip'
export type SlotDecision = 'run' | 'missed' | 'dst_gap'

/** A slot that has not started an hour after its time is missed. */
const MISSED_AFTER_MS = 60 * 60_000

/** Decides whether a slot that is due at `now` runs. */
export function applyMissedPolicy(schedule: Schedule, policy: MissedPolicy, slot: Slot, now: number): SlotDecision {
  if (slot.isSkipped) return 'dst_gap'
  if (now - slot.at < MISSED_AFTER_MS || policy === 'all') return 'run'
  return policy === 'skip' || isFollowed(schedule, slot, now) ? 'missed' : 'run'
}

/** Whether a later slot that the schedule does not skip is due as well. */
function isFollowed(schedule: Schedule, slot: Slot, now: number): boolean {
  for (const later of slotsAfter(schedule, slot.at)) {
    if (later.at > now) return false
    if (!later.isSkipped) return true
  }
  return false
}
