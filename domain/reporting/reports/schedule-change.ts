import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { takeDueSlots } from './due-slot.ts'
import type { ReportInput, ReportRow } from './report.ts'
import { isoOf } from './slot-job.ts'
import { isGapless, nextSlot, windowOf } from './slots.ts'

/**
 * Where an active report continues: its next slot is the first one after `last_slot`, and the window of that slot begins at `next_from` at
 * the latest.
 */
export type SlotPosition = Pick<ReportRow, 'last_slot' | 'next_slot' | 'next_from'>

const SCHEDULE = [
  'timezone',
  'send_at',
  'cadence',
  'weekday',
  'day_of_month',
  'on_dst_gap',
  'on_dst_overlap',
  'missed',
  'included_range_days',
] as const

/** The position of a report that becomes active: no slot up to `at`, or up to the last slot that was taken, is taken any more. */
export function firstPosition(input: ReportInput, at: string, last: string | null = null): SlotPosition & { next_slot: string } {
  const last_slot = last !== null && last > at ? last : at
  const slot = nextSlot(input, Date.parse(last_slot))
  return { last_slot, next_slot: isoOf(slot.at), next_from: isoOf(windowOf(input, input.included_range_days, slot).from) }
}

/**
 * The position after a change of an active report. The slots that were due under the former schedule are taken under that schedule. If
 * the windows of both schedules adjoin, the first window after the change begins where the last one has ended, or would have begun.
 */
export async function positionAfterChange(
  tx: Tx,
  environment: Environment,
  before: ReportRow,
  input: ReportInput,
  at: string,
): Promise<SlotPosition> {
  if (SCHEDULE.every(field => before[field] === input[field])) return before
  const taken = await takeDueSlots(tx, environment, before, Date.parse(at))
  const first = firstPosition(input, at)
  return isGapless(before) && isGapless(input) ? { ...first, next_from: taken.next_from ?? taken.last_slot } : first
}
