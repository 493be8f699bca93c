import { exactDecimal } from '../../../domain/kernel/decimal.ts'
import type { ReportedPeriod } from '../../../domain/purchases/store-facts/statement.ts'
import type { Money, Order, OrderLine } from './answers.ts'
import { nanosOf, periodTime, priceOf } from './values.ts'

type Refund = { at: string; total: bigint | null }

const sum = (amounts: bigint[]) => amounts.reduce((all, one) => all + one, 0n)
const nanos = (money: Money | undefined): bigint | null => (money && priceOf(money) ? nanosOf(money) : null)

/** The refund of the whole order. `total` null: all of it. */
function refundOf({ orderHistory, createTime }: Order): Refund | null {
  const whole = orderHistory?.refundEvent
  if (whole) return { at: periodTime(whole.eventTime ?? createTime)!, total: nanos(whole.refundDetails?.total) }
  const parts = (orderHistory?.partialRefundEvents ?? []).filter(({ state }) => state?.startsWith('PROCESSED'))
  const [last] = parts
    .map(({ processTime, createTime }) => periodTime(processTime ?? createTime))
    .sort()
    .toReversed()
  return last === undefined ? null : { at: last, total: sum(parts.map(({ refundDetails }) => nanos(refundDetails?.total) ?? 0n)) }
}

/** The part of a line in an amount, by its price. The last line takes the rest, so that the parts add up to the whole. */
function partOf(amount: bigint, { lineItems = [] }: Order, index: number): bigint {
  const prices = lineItems.map(({ total }) => nanos(total) ?? 0n)
  const all = sum(prices)
  if (lineItems.length === 1 || all === 0n) return index === 0 ? amount : 0n
  const parts = prices.map(price => (amount * price) / all)
  return index === lineItems.length - 1 ? amount - sum(parts.slice(0, -1)) : parts[index]!
}

/** The refund of one line; null: none. Undefined: the order does not show it. */
export function refundOfLine(order: Order, line: OrderLine, price: string | undefined): ReportedPeriod['refund'] {
  const refund = refundOf(order)
  if (!refund) return order.state === 'PROCESSED' ? null : undefined
  if (refund.at === undefined) return undefined
  if (refund.total === null) return { at: refund.at, amount: null }
  const amount = exactDecimal(partOf(refund.total, order, order.lineItems!.indexOf(line)), 9)
  if (amount === '0' && price !== '0') return null
  return { at: refund.at, amount: amount === price ? null : amount }
}
