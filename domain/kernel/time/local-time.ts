import { DateTime, IANAZone } from 'luxon'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
// Offsets lie between -12 h and +14 h. So every instant with a given local time lies between 15 h before and 13 h after that local time
// read as UTC.
const BEFORE = 15 * HOUR
const AFTER = 13 * HOUR

/** The error message for a text that is no zone. */
export const NO_ZONE = 'must be a name of the IANA time zone database such as Europe/Berlin'

/** Whether the tz database has the name. Luxon also accepts fixed offsets (`+01:00`) as zones, but an offset has no daylight saving. */
export const isZone = (name: string): boolean => /^[A-Za-z]/.test(name) && IANAZone.isValidZone(name)

/** Instants in ms, in order. `gap`: by how many ms the clocks were put forward across the local time; 0 without a gap. */
export type LocalInstants = { at: number[]; gap: number }

/**
 * The instants at which the clocks of the zone show a local time. The local time is given in ms as if it were UTC. An overlap has two
 * instants. A gap has one: the instant at which the clocks would show the local time if they had not been put forward.
 */
export function instantsOf(zone: IANAZone, local: number): LocalInstants {
  const before = zone.offset(local - BEFORE) * MINUTE
  const after = zone.offset(local + AFTER) * MINUTE
  const at = [...new Set([local - before, local - after])].filter(instant => instant + zone.offset(instant) * MINUTE === local)
  return at.length > 0 ? { at: at.sort((a, b) => a - b), gap: 0 } : { at: [local - before], gap: after - before }
}

/** An instant as the clocks of a zone show it, with their offset, which tells the two hours of an overlap apart: `2026-01-01 04:00 -05:00`. */
export function localTimeOf(iso: string, timezone: string): string {
  const time = DateTime.fromISO(iso, { zone: timezone })
  return time.toFormat(time.second === 0 ? 'yyyy-MM-dd HH:mm ZZ' : 'yyyy-MM-dd HH:mm:ss ZZ')
}
