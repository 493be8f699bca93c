import { DateTime } from 'luxon'
import type { Db } from '../../../store/connect.ts'
import { type Environment, now } from '../../kernel/environment.ts'
import { invalidFields } from '../../kernel/refusal.ts'
import { scheduleFaults } from './create.ts'
import { getReport } from './report.ts'
import { type Schedule, type Slot, slotsAfter } from './slots.ts'

/**
 * A slot as the clocks of the zone show it. `clock_change`: the clocks skip the schedule's time on that day, and the slot is recorded as skipped or
 * comes later; or they show it twice. `offset_change_minutes`: against the slot before it.
 */
export type UpcomingSlot = {
  at: number
  local: string
  offset: string
  clock_change: 'skipped' | 'shifted' | 'twice' | null
  offset_change_minutes: number
  seconds_ahead: number
}
/** `asOf`: the time on the environment's clock from which `seconds_ahead` counts. */
export type UpcomingSlots = { timezone: string; asOf: string; slots: UpcomingSlot[] }

/** Two slots of a monthly schedule are at most 31 days and a clock change apart. */
const LONGEST_STEP_MS = 33 * 86_400_000

const clockChange = ({ clocks, isSkipped }: Slot): UpcomingSlot['clock_change'] => {
  if (clocks === 'overlap') return 'twice'
  return clocks === 'gap' ? (isSkipped ? 'skipped' : 'shifted') : null
}

/** The first slots of a schedule after an instant, by the solver that workers take slots with. */
function upcomingSlots(schedule: Schedule, after: number, asOf: number, limit: number): UpcomingSlot[] {
  const upcoming: UpcomingSlot[] = []
  let former: number | null = null
  for (const slot of slotsAfter(schedule, after - LONGEST_STEP_MS)) {
    const local = DateTime.fromMillis(slot.at, { zone: schedule.timezone })
    if (slot.at > after)
      upcoming.push({
        at: slot.at,
        local: local.toFormat("yyyy-MM-dd'T'HH:mm"),
        offset: local.toFormat('ZZ'),
        clock_change: clockChange(slot),
        offset_change_minutes: former === null ? 0 : local.offset - former,
        seconds_ahead: Math.floor((slot.at - asOf) / 1000),
      })
    if (upcoming.length === limit) break
    former = local.offset
  }
  return upcoming
}

/**
 * The slots of a report that no worker has taken. A draft has none: these are the slots that it would have if it became active now. Throws
 * `not_found` without the report.
 */
export async function slotsOfReport(db: Db, environment: Environment, id: string, limit: number): Promise<UpcomingSlots> {
  const report = await getReport(db, environment, id)
  const asOf = await now(db, environment)
  const at = Date.parse(asOf)
  const last = report.last_slot === null ? at : Date.parse(report.last_slot)
  const after = report.status === 'active' ? last : Math.max(last, at)
  return { timezone: report.timezone, asOf, slots: upcomingSlots(report, after, at, limit) }
}

/** The slots that a report with this schedule would have if it became active now. Throws `invalid_data`. */
export async function slotsOfSchedule(db: Db, environment: Environment, schedule: Schedule, limit: number): Promise<UpcomingSlots> {
  const faults = scheduleFaults(schedule)
  if (faults.length > 0) throw invalidFields(faults)
  const asOf = await now(db, environment)
  const at = Date.parse(asOf)
  return { timezone: schedule.timezone, asOf, slots: upcomingSlots(schedule, at, at, limit) }
}
