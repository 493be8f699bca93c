import type { RecordablePeriod } from './stated-period.ts'

/** `isKnown` false: no statement has the price, and no period of the lineage shows it. */
export type Price = { price: string; currency: string; isKnown: boolean }

const FREE = '0'
const UNKNOWN_CURRENCY = 'USD'

const shown = ({ product, basePlan }: RecordablePeriod) => `${product}:${basePlan ?? ''}`

/** A family-shared purchase is paid by another user; a trial is free. */
const statedPrice = ({ isFamilyShared, periodType, price }: RecordablePeriod): string | undefined =>
  isFamilyShared || periodType === 'trial' ? FREE : price

/** The period of the lineage that shows best the price of period `i`: the last suitable one before it, else the first one after it. */
function nearest(periods: RecordablePeriod[], i: number, states: (period: RecordablePeriod) => boolean): RecordablePeriod | undefined {
  return periods.slice(0, i).findLast(states) ?? periods.slice(i + 1).find(states)
}

/** The prices of the periods of a lineage. Old transactions of the App Store state none: that of the same product in the lineage counts. */
export const pricesOf = (periods: RecordablePeriod[]): Price[] =>
  periods.map((period, i) => {
    const currency = period.currency ?? nearest(periods, i, other => other.currency !== undefined)?.currency ?? UNKNOWN_CURRENCY
    const stated = statedPrice(period)
    if (stated !== undefined) return { price: stated, currency, isKnown: true }
    const same = nearest(
      periods,
      i,
      other => shown(other) === shown(period) && other.price !== undefined && !other.isFamilyShared && other.periodType !== 'trial',
    )
    return same
      ? { price: same.price!, currency: period.currency ?? same.currency ?? currency, isKnown: true }
      : { price: FREE, currency, isKnown: false }
  })
