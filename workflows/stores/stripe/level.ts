import type { ReportedPeriod } from '../../../domain/purchases/store-facts/statement.ts'
import type { ChargedPeriod, InvoiceCredit } from './charged-periods.ts'
import { stripeAmount } from './money.ts'

const currencyIn = ({ of }: ChargedPeriod) => of.invoice.currency

/** Stripe has no levels: a period of another product is an upgrade if its price per day is higher. The credit for the old period is stated. */
export function stripeLevel(
  period: ChargedPeriod,
  before: ChargedPeriod | undefined,
  credits: InvoiceCredit[],
  currency: string,
): ReportedPeriod['level'] {
  if (!before || before.product === period.product || currencyIn(before) !== currencyIn(period)) return undefined
  if (before.price === 0n || period.price === 0n) return undefined
  const seconds = ({ begins, ends }: ChargedPeriod) => BigInt(ends - begins)
  if (period.price * seconds(before) <= before.price * seconds(period)) return undefined
  const credited = credits.filter(({ item, at }) => item === before.item && at === period.begins)
  return {
    is: 'upgrade',
    refunded: stripeAmount(
      credited.reduce((sum, { units }) => sum + units, 0n),
      currency,
    ),
  }
}
