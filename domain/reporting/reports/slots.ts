import { IANAZone } from 'luxon'
import { instantsOf, type LocalInstants } from '../../kernel/time/local-time.ts'

export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

export type Schedule = {
  timezone: string
  /** `HH:MM` on the zone's clocks. */
  send_at: string
  cadence: 'daily' | 'weekly' | 'monthly'
  weekday: (typeof WEEKDAYS)[number] | null
  day_of_month: number | null
  on_dst_gap: 'shift' | 'skip'
  on_dst_overlap: 'first' | 'both'
}

/**
 * Instants in ms. `day`: the local date, in days since 1970. `clocks`: whether the zone's clocks skip the schedule's time on that day, or show it
 * twice. `opens`: where the window begins if not at the edge of another day.
 */
export type Slot = { at: number; day: number; clocks: 'gap' | 'overlap' | null; isSkipped: boolean; opens: number | null }

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const localTime = ({ send_at }: Schedule, day: number): number => {
  const [hours = 0, minutes = 0] = send_at.split(':').map(Number)
  return day * DAY + hours * HOUR + minutes * MINUTE
}

// A zone that crosses the date line leaves a whole date out (Apia, 30 December 2011).
const isNoDate = ({ gap }: LocalInstants) => gap >= DAY

function slotsOn(schedule: Schedule, zone: IANAZone, day: number): Slot[] {
  const moments = instantsOf(zone, localTime(schedule, day))
  if (isNoDate(moments)) return []
  const [first = 0, second] = moments.at
  const clocks = second !== undefined ? 'overlap' : moments.gap > 0 ? 'gap' : null
  const slots: Slot[] = [{ at: first, day, clocks, isSkipped: clocks === 'gap' && schedule.on_dst_gap === 'skip', opens: null }]
  return second !== undefined && schedule.on_dst_overlap === 'both'
    ? [...slots, { at: second, day, clocks, isSkipped: false, opens: first }]
    : slots
}

/** The first day of the cadence from `day` on. */
function cadenceDay({ cadence, weekday, day_of_month }: Schedule, day: number): number {
  // Day 0 was a Thursday.
  if (cadence === 'weekly') return day + ((WEEKDAYS.indexOf(weekday!) - ((day + 3) % 7) + 7) % 7)
  if (cadence === 'daily') return day
  const date = new Date(day * DAY)
  const inMonth = (month: number) => {
    const length = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate()
    return Date.UTC(date.getUTCFullYear(), month, Math.min(day_of_month!, length)) / DAY
  }
  const own = inMonth(date.getUTCMonth())
  return own >= day ? own : inMonth(date.getUTCMonth() + 1)
}

/** The slots after an instant, in order, without end. They depend on the schedule alone. */
export function* slotsAfter(schedule: Schedule, instant: number): Generator<Slot, never> {
  const zone = IANAZone.create(schedule.timezone)
  // A gap may have moved the slot of the day before into this one.
  const from = Math.floor((instant + zone.offset(instant) * MINUTE) / DAY) - 1
  for (let day = cadenceDay(schedule, from); ; day = cadenceDay(schedule, day + 1))
    for (const slot of slotsOn(schedule, zone, day)) if (slot.at > instant) yield slot
}

export const nextSlot = (schedule: Schedule, instant: number): Slot => slotsAfter(schedule, instant).next().value

/** The instant at which the window of a day ends and the window of the next day begins. */
function edge(schedule: Schedule, zone: IANAZone, day: number): number {
  const moments = instantsOf(zone, localTime(schedule, day))
  if (isNoDate(moments)) return edge(schedule, zone, day - 1)
  return (schedule.on_dst_overlap === 'both' ? moments.at.at(-1) : moments.at[0])!
}

/** Whether the window of each slot reaches back to the slot before it. Two slots of a monthly schedule are 28 to 31 days apart. */
export const isGapless = ({ cadence, included_range_days }: Pick<Schedule, 'cadence'> & { included_range_days: number }): boolean =>
  cadence === 'daily' || included_range_days >= (cadence === 'weekly' ? 7 : 31)

/** The window of a slot, [from, to): back to the same local time `days` dates earlier. */
export const windowOf = (schedule: Schedule, days: number, { at, day, opens }: Slot): { from: number; to: number } => ({
  from: opens ?? edge(schedule, IANAZone.create(schedule.timezone), day - days),
  to: at,
})
