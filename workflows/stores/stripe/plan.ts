import type { Plan } from '../../../domain/purchases/subscriptions/credits.ts'
import type { Charged, ChargedPeriod } from './charged-periods.ts'
import type { KnownSubscription } from './fetch-subscription.ts'
import type { LineagePeriod } from './item-lineages.ts'
import { stripeAmount } from './money.ts'

const DAY_SECONDS = 86_400
const DAYS_OF: Record<string, number> = { day: 1, week: 7, month: 30, year: 365 }

const daysOf = ({ begins, ends }: Pick<ChargedPeriod, 'begins' | 'ends'>): number => Math.max(1, Math.round((ends - begins) / DAY_SECONDS))

/** The price of the plan for the quantity, in the smallest unit, before discounts and before tax that is added; undefined: unknown. */
function listed({ items }: KnownSubscription, { planPrice, quantity }: ChargedPeriod): { units: bigint; days: number } | undefined {
  const price = items.find(item => planPrice !== undefined && item.price.id === planPrice)?.price
  if (!price?.recurring || typeof price.unit_amount !== 'number') return undefined
  const { interval, interval_count: count } = price.recurring
  const days = DAYS_OF[interval]
  return days === undefined ? undefined : { units: BigInt(price.unit_amount) * BigInt(quantity), days: days * count }
}

/** The same where the subscription no longer has the price: the charge of a whole period with it. */
function chargedWhole({ periods }: Charged, { planPrice, quantity, item }: ChargedPeriod): { units: bigint; days: number } | undefined {
  const whole = periods.find(
    one => !one.isProration && one.price > 0n && one.item === item && one.planPrice === planPrice && one.quantity > 0,
  )
  return whole && { units: (whole.undiscounted * BigInt(quantity)) / BigInt(whole.quantity), days: daysOf(whole) }
}

/**
 * The plan of a period that one invoice alone gives for free after paid ones: the price of its lines, without tax that is added. A period
 * that is free for longer recurs for 0, and so does a product that was never paid.
 */
function freeOnce({ undiscounted, isProration, isDiscountedOnce, isPaidBefore, ...times }: LineagePeriod, currency: string): Plan | null {
  if (isProration || !isDiscountedOnce || !isPaidBefore || undiscounted <= 0n) return null
  return { price: stripeAmount(undiscounted, currency), days: daysOf(times) }
}

/**
 * The plan of a period that is prorated or shortened by a change: its full price, discounted and taxed as in the period, and its length.
 * Also the plan of a period that is free once.
 */
export function stripePlan(known: KnownSubscription, period: LineagePeriod, charged: Charged, currency: string): Plan | null {
  const { price, undiscounted, isProration, endsAt, ends } = period
  if (price <= 0n) return freeOnce(period, currency)
  if (!isProration) return endsAt < ends ? { price: stripeAmount(price, currency), days: daysOf(period) } : null
  const plan = listed(known, period) ?? chargedWhole(charged, period)
  if (!plan || plan.units <= 0n || undiscounted <= 0n) return null
  const units = (2n * plan.units * price + undiscounted) / (2n * undiscounted)
  return { price: stripeAmount(units, currency), days: plan.days }
}
