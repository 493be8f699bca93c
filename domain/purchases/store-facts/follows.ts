import { JOIN_MS, parseTime, RETRY_MS } from '../subscriptions/period.ts'
import type { RecordablePeriod } from './stated-period.ts'

const never = Number.POSITIVE_INFINITY

/**
 * Whether no period can be missing between two known, successive periods: by their statements, the second one joins the first. A recovered
 * period is no proof of that: the period whose charge had failed may be missing. `wholeUntil` (ms): the store reported the whole history up
 * to then; null: it never did.
 */
function follows(before: RecordablePeriod, next: RecordablePeriod, wholeUntil: number | null): boolean {
  const begins = Date.parse(next.begins)
  if (wholeUntil !== null && begins <= wholeUntil) return true
  if (next.isRenewal === false) return true
  if (begins <= (parseTime(before.ends) ?? never) + JOIN_MS) return true
  const retry = parseTime(before.retrySince)
  return retry !== null && begins <= retry + RETRY_MS
}

const isFirstOfLineage = ({ ids }: RecordablePeriod) => ids.transaction !== null && ids.transaction === ids.originalTransaction

/**
 * The begin of a period (ms) up to which the lineage is complete; null: nowhere. A notification of the App Store states its whole period,
 * so the periods complete each other. A lineage of another store is complete once the store reported the whole of it.
 */
export function completeUntil(platform: string, periods: RecordablePeriod[], wholeUntil: number | null): number | null {
  if (platform !== 'app_store') return wholeUntil === null ? null : never
  let until: number | null = null
  for (const [i, period] of periods.entries()) {
    const begins = Date.parse(period.begins)
    const before = periods[i - 1]
    const isNext = before ? follows(before, period, wholeUntil) : isFirstOfLineage(period) || (wholeUntil !== null && begins <= wholeUntil)
    if (!isNext) break
    until = begins
  }
  return until
}
