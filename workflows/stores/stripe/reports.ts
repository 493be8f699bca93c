import type { PeriodSaid, PeriodStatement, StoreReport } from '../../../domain/store-facts/statement.ts'
import { JOIN_MS } from '../../../domain/subscriptions/period.ts'
import { countryOf, secondOf, stated } from '../said.ts'
import type { Known } from './ask-subscription.ts'
import { type Charged, chargedPeriods } from './charged-periods.ts'
import { type ItemLineage, itemLineages, type LineagePeriod } from './item-lineages.ts'
import { lastPeriodSaid } from './last-period.ts'
import { levelOf } from './level.ts'
import { amountOf, currencyOf } from './money.ts'
import { refundOf } from './refunds.ts'
import { renewalStatements } from './renewal-statements.ts'
import { idsOf, subjectOf } from './subjects.ts'

/**
 * Undefined: a renewal long after the period before it, as after a pause. To call it one would say that a charge had failed, which only repeated
 * attempts tell.
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
function countryIn({ customer, subscription }: Known, { invoice, payments }: LineagePeriod['of']): string | undefined {
  const method = subscription.default_payment_method
  const card = typeof method === 'string' ? null : method?.card?.country
  return countryOf(invoice.customer_address?.country ?? customer?.address?.country ?? payments.country ?? card)
}

/** A period as its invoice says it. */
function periodSaid(known: Known, period: LineagePeriod, before: LineagePeriod | undefined, { periods, credits }: Charged): PeriodSaid {
  const { invoice } = period.of
  const currency = currencyOf(invoice.currency)
  const renewal = isRenewal(period, before)
  return stated<PeriodSaid>({
    product: period.product,
    basePlan: null,
    isSubscription: true,
    currency,
    price: amountOf(period.price, currency),
    begins: secondOf(period.begins * 1000),
    ends: secondOf(period.endsAt * 1000),
    periodType: period.price === 0n ? 'trial' : 'normal',
    isRenewal: renewal,
    isRecovered: renewal === true && invoice.attempt_count > 1 ? true : undefined,
    country: countryIn(known, period.of),
    refund: refundOf(period, periods, currency),
    level: levelOf(period, before, credits, currency),
  })
}

function reportOf(known: Known, { lineage, isMain, periods }: ItemLineage, charged: Charged): StoreReport {
  const { subscription, items, statedAt, accountId, isWhole } = known
  const last = periods.at(-1)!
  const isOwned = items.some(({ id }) => id === last.item)
  const statements = periods.map((period, i): PeriodStatement => {
    const { item, isRegular, begins, of } = period
    const subject = subjectOf(of.invoice.id, item, isMain, isRegular ? null : begins)
    const said = periodSaid(known, period, periods[i - 1], charged)
    const state = period === last ? lastPeriodSaid(known, period, isOwned) : {}
    return {
      kind: 'period',
      origin: 'api',
      statedAt,
      subject,
      ids: idsOf(subscription.id, of.invoice.id, subject),
      said: { ...said, ...state },
    }
  })
  return {
    platform: 'stripe',
    lineage,
    aliases: [],
    accountId,
    statements: [...statements, ...renewalStatements(known, last, isOwned)],
    notices: [],
    isWhole,
  }
}

/** What Stripe says of a subscription: one report for the subscription itself and one for each further item. */
export function subscriptionReports(known: Known): StoreReport[] {
  const charged = chargedPeriods(known)
  return itemLineages(known.subscription.id, charged).map(lineage => reportOf(known, lineage, charged))
}
