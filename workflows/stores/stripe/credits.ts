import type { Credit as StatedCredit } from '../../../domain/purchases/subscriptions/credits.ts'
import { secondOf } from '../stated.ts'
import type { Charged, ChargedPeriod } from './charged-periods.ts'
import { stripeAmount } from './money.ts'

/** The period that a credit reduces: the last period of the item that had begun before the change. */
function reduced({ periods }: Charged, item: string, at: number): ChargedPeriod | undefined {
  const own = periods
    .filter(period => period.item === item)
    .sort((a, b) => a.begins - b.begins || a.of.invoice.created - b.of.invoice.created)
  return own.findLast(({ begins }) => begins < at) ?? own[0]
}

/**
 * The credits of paid invoices for a period, by the time of the change. `upgradedAt` (seconds): when an upgrade ended it; undefined: no
 * upgrade did.
 */
export function stripeCredits(period: ChargedPeriod, charged: Charged, currency: string, upgradedAt: number | undefined): StatedCredit[] {
  const isOwn = (found: ChargedPeriod | undefined) => found?.key === period.key && found.of === period.of
  const own = charged.credits.filter(({ item, at, units }) => units > 0n && item === period.item && isOwn(reduced(charged, item, at)))
  return [...Map.groupBy(own, ({ at }) => at)]
    .sort(([a], [b]) => a - b)
    .map(([at, of]) => {
      const units = of.reduce((sum, one) => sum + one.units, 0n)
      return {
        at: secondOf(at * 1000),
        amount: stripeAmount(units, currency),
        ...(at === upgradedAt && { isOfUpgrade: true as const }),
      }
    })
}
