import { compareAmounts } from '../../events/money.ts'
import type { Plan } from '../subscriptions/credits.ts'
import { DAY_MS } from '../subscriptions/period.ts'
import type { Price } from './price.ts'
import type { RecordablePeriod } from './stated-period.ts'

const shown = ({ product, basePlan }: RecordablePeriod) => `${product}:${basePlan ?? ''}`
const isReduced = ({ isDiscounted, periodType }: RecordablePeriod) => isDiscounted === true || periodType === 'intro'

/** The plan of a paid period; null: its price was reduced, or its length is not known. */
function planOf(period: RecordablePeriod, price: string): Plan | null {
  if (period.plan) return period.plan
  if (period.ends == null || isReduced(period)) return null
  return { price, days: Math.max(1, Math.round((Date.parse(period.ends) - Date.parse(period.begins)) / DAY_MS)) }
}

/**
 * The periods that a store gives for nothing, by a discount for this period alone, after a paid one of the same run: they are renewals, whatever the
 * store calls the discount. Each with the plan that its product had in the run; null: none is known. `periods`: those of a subscription, in order.
 */
export function freeOnce(
  periods: readonly RecordablePeriod[],
  priceOf: (period: RecordablePeriod) => Price,
): Map<RecordablePeriod, Plan | null> {
  const found = new Map<RecordablePeriod, Plan | null>()
  const plans = new Map<string, Plan & { currency: string }>()
  let isPaid = false
  for (const period of periods) {
    if (period.isFamilyShared) continue
    if (period.isRenewal === false) {
      isPaid = false
      plans.clear()
    }
    const { price, currency } = priceOf(period)
    if (compareAmounts(price, '0') > 0) {
      isPaid = true
      const plan = planOf(period, price)
      if (plan) plans.set(shown(period), { ...plan, currency })
    } else if (isPaid && period.isDiscountedOnce) {
      const known = plans.get(shown(period))
      found.set(period, known?.currency === currency ? { price: known.price, days: known.days } : null)
    }
  }
  return found
}
