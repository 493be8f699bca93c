import type { Tied } from './order.ts'
import { statedInPeriods } from './placed.ts'
import type { RecordablePeriod } from './stated-period.ts'
import type { RenewalStatement } from './statement.ts'

/**
 * The pauses that begin in a period, and those of them that end before the next period begins; times in ms. `isPaused`: a pause lasts to
 * the end of the period.
 */
export type Pauses = { isPaused: boolean; pauses: number[]; resumptions: number[] }

/** Each period begins without a pause: the store has charged for it. */
export const pausesOf = (periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): Pauses[] =>
  statedInPeriods(periods, statements, 'isPaused').map(stated => {
    const found: Pauses = { isPaused: false, pauses: [], resumptions: [] }
    for (const { at, value } of stated) {
      if (value === true && !found.isPaused) found.pauses.push(at)
      if (value === false && found.isPaused) found.resumptions.push(at)
      found.isPaused = value === true
    }
    return found
  })
