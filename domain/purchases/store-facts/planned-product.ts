import { parseTime } from '../subscriptions/period.ts'
import type { PlannedChange } from '../subscriptions/purchase.ts'
import type { Tied } from './order.ts'
import { statedInPeriods } from './placed.ts'
import type { RecordablePeriod } from './stated-period.ts'
import type { RenewalStatement } from './statement.ts'

/** The product that is planned to follow a period, and the statements that led to the plan. */
export type Planned = { product: string | null; changes: PlannedChange[] }

const second = (ms: number) => Math.floor(ms / 1000)

/**
 * The plans in each period; a period begins without a plan. When nothing is planned any more after the end of the period, the plan was
 * carried out or ended with the period: that is no withdrawal.
 */
export const plannedProducts = (periods: RecordablePeriod[], statements: Tied<RenewalStatement>[]): Planned[] =>
  statedInPeriods(periods, statements, 'nextProduct').map((stated, i) => {
    const ends = parseTime(periods[i]!.ends) ?? Number.POSITIVE_INFINITY
    const found: Planned = { product: null, changes: [] }
    for (const { at, value } of stated) {
      if (value === found.product) continue
      if (value !== null) found.changes.push({ at: second(at), product: value, isWithdrawn: false })
      else if (at < ends) found.changes.push({ at: second(at), product: found.product!, isWithdrawn: true })
      found.product = value
    }
    return found
  })
