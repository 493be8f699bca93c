import type { Untaken } from './counts.ts'

/** The instants (ms) of a report's slots in [from, end) that nobody has taken. */
export function untakenSlots(report: Untaken, from: number, end: number): number[] {
  const next = Date.parse(report.next_slot)
  return next >= from && next < end ? [next] : []
}
