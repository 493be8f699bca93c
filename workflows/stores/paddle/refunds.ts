import type { ReportedPeriod } from '../../../domain/purchases/store-facts/statement.ts'
import type { Credit } from '../../../domain/purchases/subscriptions/credits.ts'
import { periodTime } from '../google/values.ts'
import type { PaddleAdjustment } from './answers.ts'
import type { ChargedItem } from './charged-items.ts'
import { paddleAmount, paddlePrice } from './money.ts'

const sum = (amounts: bigint[]) => amounts.reduce((all, one) => all + one, 0n)

/** The part of an adjustment that is about a charged product. */
function partOf({ items = [] }: PaddleAdjustment, { lines }: ChargedItem): bigint {
  const ids = new Set(lines.map(({ id }) => id))
  return sum(
    items.filter(({ item_id }) => ids.has(item_id)).map(({ totals, amount }) => paddleAmount(totals?.total) ?? paddleAmount(amount) ?? 0n),
  )
}

/**
 * The sum of refunds and chargebacks of a charged product; null: none. A chargeback that was won has the status `reversed`, and an
 * adjustment of its own with the action `chargeback_reverse`: together they count once. Warnings, and pending or rejected adjustments
 * refund nothing.
 */
export function refundOfItem(adjustments: PaddleAdjustment[], item: ChargedItem, price: bigint | null): ReportedPeriod['refund'] {
  const own = adjustments.filter(({ transaction_id }) => transaction_id === item.transaction.id)
  const those = (action: string, status: string) => own.filter(one => one.action === action && one.status === status)
  const total = (of: PaddleAdjustment[]) => sum(of.map(one => partOf(one, item)))
  const [refunds, chargebacks] = [those('refund', 'approved'), those('chargeback', 'approved')]
  const takenBack = total(those('chargeback_reverse', 'approved')) - total(those('chargeback', 'reversed'))
  const lost = total(chargebacks) - (takenBack > 0n ? takenBack : 0n)
  const amount = total(refunds) + (lost > 0n ? lost : 0n)
  const { currency_code: currency } = item.transaction
  const parts = [...refunds, ...(lost > 0n ? chargebacks : [])]
    .filter(one => partOf(one, item) > 0n)
    .flatMap(one => {
      const at = periodTime(one.updated_at) ?? periodTime(one.created_at)
      return at === undefined ? [] : [{ at, amount: paddlePrice(partOf(one, item), currency) }]
    })
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  const last = parts.at(-1)
  if (amount <= 0n || last === undefined) return null
  return { at: last.at, amount: price !== null && amount < price ? paddlePrice(amount, currency) : null, parts }
}

/** The credit for a charged product to the customer's balance, for example for the unused rest of a plan, minus reversed credits. */
export function creditsOfItem(adjustments: PaddleAdjustment[], item: ChargedItem): Credit[] {
  const own = adjustments.filter(one => one.transaction_id === item.transaction.id && one.status === 'approved' && partOf(one, item) > 0n)
  let reversed = sum(own.filter(({ action }) => action === 'credit_reverse').map(one => partOf(one, item)))
  const latestFirst = own
    .filter(({ action }) => action === 'credit')
    .flatMap(one => {
      const at = periodTime(one.created_at)
      return at === undefined ? [] : [{ at, units: partOf(one, item) }]
    })
    .sort((a, b) => (a.at < b.at ? 1 : -1))
  return latestFirst
    .flatMap(({ at, units }) => {
      const taken = reversed < units ? reversed : units
      reversed -= taken
      return units === taken ? [] : [{ at, amount: paddlePrice(units - taken, item.transaction.currency_code) }]
    })
    .reverse()
}
