import { compareAmounts, minus, plus } from '../../events/money.ts'
import { type RefundPart, refundPartsAfter } from '../subscriptions/refund-parts.ts'
import type { StatedPeriod } from './stated-period.ts'

/** The refunded amount of a transaction now and the time of the refund, the single refunds, and the sum of all refunds that were ever taken back. */
export type FoldedRefund = { at: string | null; amount: string | null; parts: RefundPart[]; takenBack: string }

/** The refunds that a store lists, in the order of their times, as far as they add up to `total`. */
function partsUpTo(listed: RefundPart[], total: string): RefundPart[] {
  let parts: RefundPart[] = []
  let back = '0'
  for (const { at, amount } of listed) {
    const sum = plus(back, amount)
    back = compareAmounts(sum, total) < 0 ? sum : total
    parts = refundPartsAfter(parts, back, at)
  }
  return parts
}

/** The refunds never exceed the price. Each fall of the refunded amount, in order of store time, is a refund that was taken back. */
export function foldRefunds({ refunds }: Pick<StatedPeriod, 'refunds'>, price: string): FoldedRefund {
  let back = '0'
  let takenBack = '0'
  let parts: RefundPart[] = []
  for (const { at, amount, parts: listed } of refunds) {
    const now = amount !== null && compareAmounts(amount, price) < 0 ? amount : price
    if (compareAmounts(now, back) < 0) takenBack = plus(takenBack, minus(back, now))
    back = now
    parts = at === null ? [] : listed ? partsUpTo(listed, now) : refundPartsAfter(parts, now, at)
  }
  const last = refunds.at(-1)
  return last?.at == null ? { at: null, amount: null, parts: [], takenBack } : { at: last.at, amount: back, parts, takenBack }
}
