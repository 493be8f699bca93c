import { compareAmounts, minus, plus } from '../../events/money.ts'

/** One refund of a transaction: its amount and its time (ISO). */
export type RefundPart = { at: string; amount: string }

/** A posted refund of a purchase, or (negative) such a refund that was taken back; in millionths, times in ms. */
export type PostedBack = { at: number; amount: bigint; recorded: number; event: string }

/** A posted refund that repeats a refund that is stated of the purchase. `amount`: millionths. */
export type RepeatedRefund = { event: string; amount: bigint }

/**
 * The refunds when `total` has gone back in all, last stated with the time `at`. A rise is a further refund at that time, and leaves the former ones at
 * theirs. A fall takes from the latest refunds first. Without a rise, `at` corrects the time of the last refund that remains.
 */
export function refundPartsAfter(parts: RefundPart[], total: string, at: string): RefundPart[] {
  const after = parts.map(part => ({ ...part }))
  let back = after.reduce((sum, { amount }) => plus(sum, amount), '0')
  if (compareAmounts(total, back) > 0) {
    const amount = minus(total, back)
    const last = after.at(-1)
    if (last?.at === at) last.amount = plus(last.amount, amount)
    else after.push({ at, amount })
    return after
  }
  while (compareAmounts(back, total) > 0) {
    const last = after.at(-1)!
    const excess = minus(back, total)
    const taken = compareAmounts(excess, last.amount) < 0 ? excess : last.amount
    back = minus(back, taken)
    last.amount = minus(last.amount, taken)
    if (compareAmounts(last.amount, '0') <= 0) after.pop()
  }
  const last = after.at(-1)
  if (last) last.at = at
  return after
}

type Refunded = { refunded_at: string | null; refunded_amount: string | null; amount: string; refunds: RefundPart[] }

/** The refunded amount of a purchase; never more than was paid, as in the customer's figures. */
export function refundedAmount({ refunded_at, refunded_amount, amount }: Omit<Refunded, 'refunds'>): string {
  if (refunded_at === null) return '0'
  return refunded_amount !== null && compareAmounts(refunded_amount, amount) < 0 ? refunded_amount : amount
}

/** The refunds of a purchase; also where the row was written last by an older program that did not know single refunds. */
export const refundPartsOf = (purchase: Refunded): RefundPart[] =>
  purchase.refunded_at === null ? [] : refundPartsAfter(purchase.refunds, refundedAmount(purchase), purchase.refunded_at)
