import { DateTime, Duration } from 'luxon'

/** The shortest and the longest that a duration may be, themselves durations of ISO 8601. */
export type Bounds = { least: string; most: string }
export const WAIT: Bounds = { least: 'PT1S', most: 'P1Y' }
export const GRANT: Bounds = { least: 'PT1M', most: 'P10Y' }

// Years and months have no length of their own. From the beginning of a leap year on: 366 days are a year, as they may be.
const START = DateTime.utc(2000, 1, 1)
const lengthOf = (duration: string) => START.plus(Duration.fromISO(duration)).toMillis()

/** Why a duration is out of its bounds, null when it is not. Its form was checked by the description. */
export function durationFault(duration: string, { least, most }: Bounds): string | null {
  const length = lengthOf(duration)
  return length >= lengthOf(least) && length <= lengthOf(most) ? null : `must be ${least} to ${most}`
}
