import type { PeriodStatement, ReportedPeriod, TransactionIds } from '../../../domain/purchases/store-facts/statement.ts'
import type { Plan } from '../../../domain/purchases/subscriptions/credits.ts'
import { JOIN_MS } from '../../../domain/purchases/subscriptions/period.ts'
import { periodTime } from '../google/values.ts'
import { countryOf, secondOf, stated } from '../stated.ts'
import type { PaddleAdjustment, PaddleTransaction } from './answers.ts'
import { type ChargedItem, type ChargedPlan, chargedItems, isPlanChange, paddleBilledAt } from './charged-items.ts'
import { paddleAmount, paddlePrice, paddleShare } from './money.ts'
import { cutPlan, freeOncePlan, proratedPlan } from './plan.ts'
import { creditsOfItem, refundOfItem } from './refunds.ts'

/** A charged plan with its period; times in ms. `isFree`: a trial. */
export type PlanPeriod = { plan: ChargedPlan; begins: number; ends: number; isFree: boolean }

export const paddleIds = (transaction: string | null, subscription: string | null, storeType: string): TransactionIds => ({
  transaction,
  originalTransaction: null,
  token: null,
  order: null,
  subscription,
  storeType,
})

/** The charge for the product, in the lowest denomination; null: not stated. */
function amountOfItem({ lines }: ChargedItem): bigint | null {
  const amounts = lines.map(({ totals }) => paddleAmount(totals?.total))
  return amounts.includes(null) ? null : amounts.reduce<bigint>((all, one) => all + one!, 0n)
}

const isPaid = (item: ChargedItem): boolean => (amountOfItem(item) ?? 0n) > 0n

const isDiscounted = ({ lines }: ChargedItem): boolean => lines.some(({ totals }) => (paddleAmount(totals?.discount) ?? 0n) > 0n)

/** The fields that are reported of a charged product, whether it is a plan or not. */
export function reportedPaddleCharge(item: ChargedItem, adjustments: PaddleAdjustment[]) {
  const { currency_code: currency, address, details } = item.transaction
  const amount = amountOfItem(item)
  return {
    product: item.product,
    currency,
    price: amount === null ? undefined : paddlePrice(amount, currency),
    country: countryOf(address?.country_code),
    refund: refundOfItem(adjustments, item, amount),
    proceedsShare: paddleShare(details?.totals),
  } satisfies { [Key in keyof ReportedPeriod]?: ReportedPeriod[Key] | undefined }
}

/**
 * The period for which a plan is charged; null: none. A change begins a period when it is billed, whatever period Paddle bills it in; a
 * change that charges nothing begins none.
 */
function periodOfPlan(plan: ChargedPlan): PlanPeriod | null {
  const { transaction, lines } = plan
  const [starts, ends] = [transaction.billing_period?.starts_at, transaction.billing_period?.ends_at].map(time => Date.parse(time ?? ''))
  if (!(ends! > starts!)) return null
  const amount = amountOfItem(plan)
  const isNothing = amount !== null && amount <= 0n
  // A period that is free because of a discount is no trial.
  const isFree = isNothing && !isDiscounted(plan)
  if (!isPlanChange(transaction)) return { plan, begins: starts!, ends: ends!, isFree }
  if (isNothing) return null
  const times = [...lines.map(({ proration }) => Date.parse(proration?.billing_period?.starts_at ?? '')), paddleBilledAt(transaction)]
  const begins = Math.max(starts!, ...times.filter(time => time < ends!))
  return { plan, begins, ends: ends!, isFree }
}

export const planPeriods = (plans: ChargedPlan[]): PlanPeriod[] =>
  plans
    .map(periodOfPlan)
    .filter(period => period !== null)
    .sort((a, b) => a.begins - b.begins || (a.plan.subject < b.plan.subject ? -1 : 1))

const isRecurringCharge = ({ origin }: PaddleTransaction): boolean => origin === 'subscription_recurring'

/**
 * Whether the period continues the period before it. Paddle charges a resumption in the same way as a renewal. A period that does not begin
 * at the end of the period before it follows a pause, so it is not reported as a renewal: that would report that auto-renew was on, or that
 * a charge had failed.
 */
function isRenewal({ plan, begins }: PlanPeriod, before: PlanPeriod | undefined): boolean | undefined {
  if (!isRecurringCharge(plan.transaction)) return false
  if (before === undefined || Math.abs(begins - before.ends) <= JOIN_MS) return true
  // A trial may be shortened.
  return before.isFree && begins < before.ends ? true : undefined
}

/** A change, or the end of a trial, ends the period before it. The end of a pause does not end a period. */
const endsBefore = (next: PlanPeriod | undefined, { ends, isFree }: PlanPeriod): boolean =>
  next !== undefined && next.begins < ends && (isPlanChange(next.plan.transaction) || isFree)

/**
 * The end of a period that another period follows; undefined: the earlier report of the end stays. Where the next period adjoins, the end
 * is stated again, because it was reported an hour later while the next period was not paid.
 */
function endBefore(next: PlanPeriod | undefined, period: PlanPeriod): number | undefined {
  if (next === undefined) return undefined
  if (endsBefore(next, period)) return next.begins
  return Math.abs(next.begins - period.ends) <= JOIN_MS ? period.ends : undefined
}

/** Since when the charge after a period fails, or had failed before it was paid; undefined: it did not fail. */
function failedSince({ plan, begins, ends, isFree }: PlanPeriod, transactions: PaddleTransaction[]): string | undefined {
  const next = transactions.find(one => {
    const starts = Date.parse(one.billing_period?.starts_at ?? '')
    const isNext = isRecurringCharge(one) && starts > begins && (isFree || Math.abs(starts - ends) <= JOIN_MS)
    return isNext && (plan.isMain || chargedItems(one).some(({ product }) => product === plan.product))
  })
  const [first] = (next?.payments ?? [])
    .flatMap(({ status, created_at }) => (status === 'error' ? (periodTime(created_at) ?? []) : []))
    .sort()
  return first ?? (next?.status === 'past_due' ? secondOf(ends) : undefined)
}

type Charge = { price: string | undefined; end: number | undefined; isPaidBefore: boolean }

/**
 * The plan of a period that is prorated, shortened or free once. `end`: the end of a period that another one follows; `isPaidBefore`: an
 * earlier period had a price.
 */
function planOf(period: PlanPeriod, { price, end, isPaidBefore }: Charge): Plan | null {
  const { plan, ends, isFree } = period
  if (isFree) return null
  if (!isPaid(plan)) return isPaidBefore ? freeOncePlan(plan, period) : null
  return proratedPlan(plan) ?? (end !== undefined && end < ends ? cutPlan(price, period) : null)
}

/** Everything that is known of a lineage's subscription. `transactions`: in the order of their beginnings. */
export type PlansKnown = { periods: PlanPeriod[]; transactions: PaddleTransaction[]; adjustments: PaddleAdjustment[]; statedAt: number }

/**
 * The periods of a lineage. The end that a transaction shows is a second statement, at the time of the transaction: later reports about the
 * subscription (cancelled, paused, prolonged) override it.
 */
export function planStatements({ periods, transactions, adjustments, statedAt }: PlansKnown): PeriodStatement[] {
  const firstPaid = periods.findIndex(({ plan }) => isPaid(plan))
  return periods.flatMap((period, index): PeriodStatement[] => {
    const { plan, begins, ends, isFree } = period
    const { transaction, subject } = plan
    const [before, next] = [periods[index - 1], periods[index + 1]]
    const end = endBefore(next, period)
    const ids = paddleIds(subject, transaction.subscription_id ?? null, 'subscription')
    const common = { kind: 'period', origin: 'api', subject, ids } as const
    const charge = reportedPaddleCharge(plan, adjustments)
    const reported = stated<ReportedPeriod>({
      ...charge,
      credits: creditsOfItem(adjustments, plan),
      plan: planOf(period, { price: charge.price, end, isPaidBefore: firstPaid !== -1 && firstPaid < index }),
      isSubscription: true,
      begins: secondOf(begins),
      ends: end === undefined ? undefined : secondOf(end),
      periodType: isFree ? 'trial' : 'normal',
      isDiscounted: isDiscounted(plan) ? true : undefined,
      isRenewal: isRenewal(period, before),
      retrySince: endsBefore(next, period) ? undefined : (failedSince(period, transactions) ?? (next ? undefined : null)),
    })
    return [
      { ...common, statedAt, reported },
      { ...common, statedAt: paddleBilledAt(transaction) || begins, reported: { ends: secondOf(ends) } },
    ]
  })
}
