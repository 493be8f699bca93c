import type { PeriodStatement, ReportedPeriod, TransactionIds } from '../../../domain/purchases/store-facts/statement.ts'
import { JOIN_MS } from '../../../domain/purchases/subscriptions/period.ts'
import { countryOf, stated } from '../stated.ts'
import type { Money, Order } from './answers.ts'
import { isRenewalOrder } from './fetch-orders.ts'
import { type ChargedLine, subjectOf } from './order-lines.ts'
import { refundOfLine } from './refunds.ts'
import { periodTime, priceOf, shareOf } from './values.ts'

export function idsOf(token: string, order: string | null, subject: string): TransactionIds {
  const transaction = order === null || subject === order ? null : subject
  return { transaction, originalTransaction: null, token, order, subscription: null, storeType: null }
}

/** The charged amount. An order with one line has the buyer's total; of several lines each has its own. */
export const chargeOf = ({ total, lineItems = [] }: Order, line: { total?: Money }): ReturnType<typeof priceOf> =>
  priceOf(lineItems.length === 1 ? (total ?? line.total) : line.total)

/** Google deducts its share from refunds as well: only an order without refunds shows it. */
export const proceedsOf = ({ state, developerRevenueInBuyerCurrency, total }: Order): string | undefined =>
  state === 'PROCESSED' ? shareOf(developerRevenueInBuyerCurrency, total) : undefined

/** A promotion may reduce the base price to 0 without a trial. Google does not state its duration; Play Points are used for one order. */
function reportedType(
  { order, line }: ChargedLine,
  price: string | undefined,
): Pick<ReportedPeriod, 'periodType' | 'isDiscounted' | 'isDiscountedOnce'> {
  const phase = line.subscriptionDetails?.offerPhaseDetails ?? {}
  if (phase.freeTrialDetails) return { periodType: 'trial' }
  if (phase.introductoryPriceDetails) return { periodType: 'intro', isDiscounted: true }
  if (price !== '0' || phase.prorationPeriodDetails) return { periodType: 'normal' }
  if (!phase.baseDetails) return { periodType: 'trial' }
  return { periodType: 'normal', isDiscounted: true, ...(order.pointsDetails && { isDiscountedOnce: true }) }
}

/**
 * A renewal that begins long after the period before it follows a pause or a hold. Only the state and the notifications of that time show
 * which one, so such an order is not reported as a renewal: that would report a failed charge.
 */
function isRenewal({ order, line, isMain }: ChargedLine, before: ChargedLine[]): boolean | undefined {
  if (!isRenewalOrder(order.orderId)) return false
  const previous = before.findLast(one => one.isMain === isMain && (isMain || one.line.productId === line.productId))
  const end = Date.parse(previous?.line.subscriptionDetails?.servicePeriodEndTime ?? '')
  return Date.parse(line.subscriptionDetails?.servicePeriodStartTime ?? '') - end > JOIN_MS ? undefined : true
}

/**
 * The period of an order. Its end is a second statement, at the time of the order: Google calls it a snapshot of that moment, and later
 * reports about the subscription (deferred, revoked, replaced) override it. `before`: the lines that were charged earlier.
 */
export function orderStatements(
  charged: ChargedLine,
  before: ChargedLine[],
  statedAt: number,
  level: ReportedPeriod['level'],
): PeriodStatement[] {
  const { order, line, token } = charged
  const details = line.subscriptionDetails
  const subject = subjectOf(order.orderId, line.productId, charged.isMain)
  const common = { kind: 'period', origin: 'api', subject, ids: idsOf(token, order.orderId, subject) } as const
  const charge = chargeOf(order, line)
  const begins = periodTime(details?.servicePeriodStartTime ?? order.createTime)
  const ends = periodTime(details?.servicePeriodEndTime)
  const processedAt = Date.parse(order.orderHistory?.processedEvent?.eventTime ?? order.createTime ?? begins ?? '')
  const reported = stated<ReportedPeriod>({
    product: line.productId,
    basePlan: details?.basePlanId ?? null,
    isSubscription: true,
    currency: charge?.currency,
    price: charge?.price,
    begins,
    ...reportedType(charged, charge?.price),
    isRenewal: isRenewal(charged, before),
    isNewBuy: !isRenewalOrder(order.orderId),
    country: countryOf(order.buyerAddress?.buyerCountry),
    refund: refundOfLine(order, line, charge?.price),
    proceedsShare: proceedsOf(order),
    level,
  })
  const ended = ends !== undefined && !Number.isNaN(processedAt) ? [{ ...common, statedAt: processedAt, reported: { ends } }] : []
  return [{ ...common, statedAt, reported }, ...ended]
}
