import { type Schedule, type Slot, slotsAfter } from './slots.ts'

export type Missed = 'once' | 'all' | 'skip'
export type SlotDecision = 'run' | 'missed' | 'dst_gap'

/** A slot that was not started by then is missed. */
const MISSED_AFTER_MS = 60 * 60_000

/** What becomes of a slot that is due at `now`. */
export function applyMissedPolicy(schedule: Schedule, missed: Missed, slot: Slot, now: number): SlotDecision {
  if (slot.isSkipped) return 'dst_gap'
  if (now - slot.at < MISSED_AFTER_MS || missed === 'all') return 'run'
  return missed === 'skip' || isFollowed(schedule, slot, now) ? 'missed' : 'run'
}

/** Whether a later slot that could run is due as well. */
function isFollowed(schedule: Schedule, slot: Slot, now: number): boolean {
  for (const later of slotsAfter(schedule, slot.at)) {
    if (later.at > now) return false
    if (!later.isSkipped) return true
  }
  return false
}
