import { IANAZone } from 'luxon'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
// Offsets lie between -12 h and +14 h: every instant with a given local time lies between these two distances from that time in UTC.
const BEFORE = 15 * HOUR
const AFTER = 13 * HOUR

/** Whether it is a name of the tz database. Luxon takes fixed offsets (`+01:00`) for zones, too, but an offset has no daylight saving. */
export const isZone = (name: string): boolean => /^[A-Za-z]/.test(name) && IANAZone.isValidZone(name)

/** Instants in ms, in order. `gap`: by how many ms the clocks were put forward over the local time; 0 if they were not. */
export type Moments = { at: number[]; gap: number }

/**
 * The instants at which the clocks of the zone show a local time, which is given in ms as if it were UTC: two in an overlap; in a gap
 * one, later by the size of the gap, as the clocks would show it had they not been put forward.
 */
export function momentsOf(zone: IANAZone, local: number): Moments {
  const before = zone.offset(local - BEFORE) * MINUTE
  const after = zone.offset(local + AFTER) * MINUTE
  const at = [...new Set([local - before, local - after])].filter(instant => instant + zone.offset(instant) * MINUTE === local)
  return at.length > 0 ? { at: at.sort((a, b) => a - b), gap: 0 } : { at: [local - before], gap: after - before }
}
