import { slotsAfter } from '../reports/slots.ts'
import type { Untaken } from './counts.ts'

/** The instants (ms) of a report's slots in [from, end) that nobody has taken. */
export function untakenSlots(report: Untaken, from: number, end: number): number[] {
  const slots: number[] = []
  for (const { at } of slotsAfter(report, Date.parse(report.next_slot) - 1)) {
    if (at >= end) return slots
    if (at >= from) slots.push(at)
  }
  return slots
}
