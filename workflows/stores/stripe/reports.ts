import type { PeriodStatement, ReportedPeriod, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { JOIN_MS } from '../../../domain/purchases/subscriptions/period.ts'
import { countryOf, secondOf, stated } from '../stated.ts'
import { type Charged, chargedPeriods } from './charged-periods.ts'
import { stripeCredits } from './credits.ts'
import type { KnownSubscription } from './fetch-subscription.ts'
import { type ItemLineage, itemLineages, type LineagePeriod } from './item-lineages.ts'
import { reportedLastPeriod } from './last-period.ts'
import { stripeLevel } from './level.ts'
import { stripeAmount, stripeCurrency } from './money.ts'
import { stripePlan } from './plan.ts'
import { stripeRefund } from './refunds.ts'
import { stripeRenewalStatements } from './renewal-statements.ts'
import { invoiceIds, invoiceSubject } from './subjects.ts'

/**
 * Undefined: a renewal long after the period before it, for example after a pause. The report of a renewal would report a failed charge,
 * which only repeated attempts show.
 */
function isRenewal({ begins, isProration, of: { invoice } }: LineagePeriod, before: LineagePeriod | undefined): boolean | undefined {
  if (!before || isProration) return false
  switch (invoice.billing_reason) {
    case 'subscription_create':
    case 'subscription_update':
      return false
    case 'subscription_cycle':
      return (begins - before.endsAt) * 1000 <= JOIN_MS || invoice.attempt_count > 1 ? true : undefined
    default:
      return undefined
  }
}

/** The customer's country when the invoice was made, else that of the card. */
function countryIn({ customer, subscription }: KnownSubscription, { invoice, payments }: LineagePeriod['of']): string | undefined {
  const method = subscription.default_payment_method
  const card = typeof method === 'string' ? null : method?.card?.country
  return countryOf(invoice.customer_address?.country ?? customer?.address?.country ?? payments.country ?? card)
}

/** The report of a period from its invoice. */
function reportedPeriod(
  known: KnownSubscription,
  period: LineagePeriod,
  { before, next }: { before: LineagePeriod | undefined; next: LineagePeriod | undefined },
  charged: Charged,
): ReportedPeriod {
  const { periods, credits } = charged
  const { invoice } = period.of
  const currency = stripeCurrency(invoice.currency)
  const renewal = isRenewal(period, before)
  return stated<ReportedPeriod>({
    product: period.product,
    basePlan: null,
    isSubscription: true,
    currency,
    price: stripeAmount(period.price, currency),
    begins: secondOf(period.begins * 1000),
    ends: secondOf(period.endsAt * 1000),
    // A coupon for the whole price leaves the amount of the line unchanged; the amount of a trial's line is 0.
    periodType: period.price === 0n && period.undiscounted === 0n ? 'trial' : 'normal',
    isDiscounted: !period.isProration && period.undiscounted > period.price ? true : undefined,
    isRenewal: renewal,
    isRecovered: renewal === true && invoice.attempt_count > 1 ? true : undefined,
    country: countryIn(known, period.of),
    refund: stripeRefund(period, periods, currency),
    level: stripeLevel(period, before, credits, currency),
    credits: stripeCredits(period, charged, currency, next && stripeLevel(next, period, credits, currency) ? next.begins : undefined),
    plan: stripePlan(known, period, charged, currency),
  })
}

function reportOf(known: KnownSubscription, { lineage, isMain, periods }: ItemLineage, charged: Charged): StoreReport {
  const { subscription, items, statedAt, accountId, isWhole } = known
  const last = periods.at(-1)!
  const isOwned = items.some(({ id }) => id === last.item)
  const statements = periods.map((period, i): PeriodStatement => {
    const { item, isRegular, begins, of } = period
    const subject = invoiceSubject(of.invoice.id, item, isMain, isRegular ? null : begins)
    const reported = reportedPeriod(known, period, { before: periods[i - 1], next: periods[i + 1] }, charged)
    const state = period === last ? reportedLastPeriod(known, period, isOwned) : {}
    return {
      kind: 'period',
      origin: 'api',
      statedAt,
      subject,
      ids: invoiceIds(subscription.id, of.invoice.id, subject),
      reported: { ...reported, ...state },
    }
  })
  return {
    platform: 'stripe',
    lineage,
    aliases: [],
    accountId,
    statements: [...statements, ...stripeRenewalStatements(known, last, { isOwned, isMain })],
    notices: [],
    isWhole,
  }
}

/**
 * The reports of a subscription: one for the subscription itself and one for each further item. `lineages`: the charged periods from which
 * they are made.
 */
export function stripeReports(known: KnownSubscription): { lineages: ItemLineage[]; reports: StoreReport[] } {
  const charged = chargedPeriods(known)
  const lineages = itemLineages(known.subscription.id, charged)
  return { lineages, reports: lineages.map(lineage => reportOf(known, lineage, charged)) }
}
