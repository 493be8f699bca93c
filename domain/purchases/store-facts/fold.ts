import { compareAmounts } from '../../events/money.ts'
import type { Credit, Plan } from '../subscriptions/credits.ts'
import type { OffCause } from '../subscriptions/period.ts'
import type { PlannedChange, ProductLevel } from '../subscriptions/purchase.ts'
import { autoRenewOf, neverRenews, plannedLevels } from './auto-renew.ts'
import { type BillingRetry, billingRetryOf } from './billing-retry.ts'
import { creditsOf } from './credits.ts'
import { completeUntil } from './follows.ts'
import { freeOnce } from './free-once.ts'
import { offCausesOf } from './off-cause.ts'
import type { Tied } from './order.ts'
import { pausesOf } from './pauses.ts'
import { plannedProducts } from './planned-product.ts'
import { pricesOf } from './price.ts'
import { type FoldedRefund, foldRefunds } from './refunds.ts'
import { type RecordablePeriod, recordablePeriods, type StatedPeriod } from './stated-period.ts'
import type { RenewalStatement, TransactionIds } from './statement.ts'

/** A transaction as computed from all statements. Times as texts, whole seconds. */
export type FoldedPeriod = {
  subject: string
  aliases: string[]
  ids: TransactionIds
  product: string
  basePlan: string | null
  isSubscription: boolean
  currency: string
  price: string
  isPriceKnown: boolean
  begins: string
  ends: string | null
  periodType: 'normal' | 'trial' | 'intro' | null
  isDiscounted: boolean
  /** The store calls it a purchase and not a renewal. */
  isNewBuy: boolean
  autoRenews: boolean
  /** When auto-renew was switched off, on, off … within the period, in Unix seconds. */
  autoRenewChanges: number[]
  /** The cause of each time that it was switched off; empty: none is known. */
  offCauses: (OffCause | null)[]
  neverRenews: boolean
  isPaused: boolean
  /** When pauses began, and when they ended before the next period, in Unix seconds. */
  pauses: number[]
  resumptions: number[]
  plannedProduct: string | null
  plannedChanges: PlannedChange[]
  isFamilyShared: boolean
  country: string | null
  refund: FoldedRefund
  retry: BillingRetry
  proceedsShare: string | null
  level: ProductLevel | null
  credits: Credit[]
  plan: Plan | null
  /** At least one statement is the store's. */
  isOfStore: boolean
}

/** `completeUntil` (ms): no period that begins earlier is missing. Null: nothing is certain; Infinity: nothing at all is missing. */
export type FoldedLineage = { periods: FoldedPeriod[]; completeUntil: number | null }

const second = (ms: number) => Math.floor(ms / 1000)
const NO_RETRY: BillingRetry = { since: null, first: null, graceUntil: null }

/** A free period is a trial, unless a store says otherwise or a discount makes it free; one with a price is none. */
function periodTypeOf(
  { isSubscription, isFamilyShared, periodType, isDiscounted, isOfStore }: RecordablePeriod,
  price: string,
): FoldedPeriod['periodType'] {
  if (!isSubscription) return null
  if (isFamilyShared) return 'normal'
  if (compareAmounts(price, '0') === 0)
    return periodType !== 'trial' && (isDiscounted || (isOfStore && periodType === 'normal')) ? 'normal' : 'trial'
  return periodType === 'intro' ? 'intro' : 'normal'
}

/**
 * The periods of a lineage, computed from its statements, in the order of their begin. The result is a function of the set of statements:
 * the order in which they arrived has no influence. `wholeUntil` (ms): the store reported the whole history up to then.
 */
export function foldLineage(
  platform: string,
  stated: StatedPeriod[],
  renewals: Tied<RenewalStatement>[],
  wholeUntil: number | null,
): FoldedLineage {
  const periods = recordablePeriods(stated)
  const prices = new Map(pricesOf(periods).map((price, i) => [periods[i]!, price]))
  const subscription = periods.filter(({ isSubscription }) => isSubscription)
  const free = freeOnce(subscription, period => prices.get(period)!)
  const autoRenew = autoRenewOf(subscription, renewals)
  const planned = plannedLevels(subscription, renewals)
  const pauses = pausesOf(subscription, renewals)
  const products = plannedProducts(subscription, renewals)
  const isLineagePrepaid = neverRenews(renewals)
  const folded = periods.map((period): FoldedPeriod => {
    const { price, currency, isKnown } = prices.get(period)!
    const i = subscription.indexOf(period)
    const isPrepaid = period.isSubscription && (isLineagePrepaid || period.isPrepaid === true)
    const renewing = autoRenew[i] ?? { isOn: false, changes: [], offs: [], gaveUpAt: null }
    const { isOn, changes, gaveUpAt } = renewing
    const retry = period.isSubscription ? billingRetryOf(period, subscription[i + 1], gaveUpAt) : NO_RETRY
    return {
      subject: period.subject,
      aliases: period.aliases ?? [],
      ids: period.ids,
      product: period.product,
      basePlan: period.basePlan ?? null,
      isSubscription: period.isSubscription,
      currency,
      price,
      isPriceKnown: isKnown,
      begins: period.begins,
      ends: period.isSubscription ? (period.ends ?? null) : null,
      periodType: free.has(period) ? 'normal' : periodTypeOf(period, price),
      isDiscounted: free.has(period) || (period.isDiscounted ?? false),
      isNewBuy: period.isSubscription && period.isNewBuy === true,
      autoRenews: isOn && !(isPrepaid && i === subscription.length - 1),
      autoRenewChanges: changes.map(second),
      offCauses: offCausesOf(renewing, retry),
      neverRenews: isPrepaid,
      isPaused: pauses[i]?.isPaused ?? false,
      pauses: (pauses[i]?.pauses ?? []).map(second),
      resumptions: (pauses[i]?.resumptions ?? []).map(second),
      plannedProduct: products[i]?.product ?? null,
      plannedChanges: products[i]?.changes ?? [],
      isFamilyShared: period.isFamilyShared ?? false,
      country: period.country ?? null,
      refund: foldRefunds(period, price),
      retry,
      proceedsShare: period.proceedsShare ?? null,
      level: period.level ?? planned[i] ?? null,
      credits: creditsOf(platform, period, price, i === -1 ? undefined : subscription[i + 1]),
      plan: period.plan ?? free.get(period) ?? null,
      isOfStore: period.isOfStore,
    }
  })
  return { periods: folded, completeUntil: completeUntil(platform, periods, wholeUntil) }
}
