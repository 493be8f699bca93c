import type { ReportedPeriod } from '../../../domain/purchases/store-facts/statement.ts'
import { secondOf } from '../stated.ts'
import { type ChargedPeriod, linePrice } from './charged-periods.ts'
import { stripeAmount } from './money.ts'

/**
 * The part of a period in the refunds of its invoice, by the price: Stripe refunds payments, not lines. Null: nothing; undefined: unknown.
 * If nothing else was charged, the last period takes the rest, so that the parts add up to the whole.
 */
export function stripeRefund(period: ChargedPeriod, all: ChargedPeriod[], currency: string): ReportedPeriod['refund'] {
  const { back } = period.of.payments
  if (!back) return back
  const siblings = all.filter(({ of }) => of.invoice.id === period.of.invoice.id)
  const prices = siblings.map(({ price }) => price)
  const charged = prices.reduce((sum, price) => sum + price, 0n)
  const total = period.of.lines.map(linePrice).reduce((sum, price) => (price > 0n ? sum + price : sum), 0n)
  if (total === 0n) return null
  const index = siblings.findIndex(({ key }) => key === period.key)
  const isRest = charged === total && index === siblings.length - 1
  const ownOf = (amount: bigint): bigint => {
    const parts = prices.map(price => (amount * price) / total)
    return isRest ? amount - parts.slice(0, -1).reduce((sum, one) => sum + one, 0n) : parts[index]!
  }
  const own = ownOf(back.amount)
  if (own === 0n) return null
  let before = 0n
  const parts = back.parts.map(({ amount, at }) => {
    const part = ownOf(before + amount) - ownOf(before)
    before += amount
    return { at: secondOf(at * 1000), amount: stripeAmount(part, currency) }
  })
  return { at: secondOf(back.at * 1000), amount: own >= period.price ? null : stripeAmount(own, currency), parts }
}
