import { compareAmounts, minus, plus } from '../events/money.ts'
import type { StatedPeriod } from './stated-period.ts'

/** What went back of a transaction now and when, and the sum of what was taken back of its refunds ever. */
export type FoldedRefund = { at: string | null; amount: string | null; takenBack: string }

/** Never more than the price goes back. Each fall of the refunded amount, in order of store time, is a refund that was taken back. */
export function foldRefunds({ refunds }: Pick<StatedPeriod, 'refunds'>, price: string): FoldedRefund {
  let back = '0'
  let takenBack = '0'
  for (const { amount } of refunds) {
    const now = amount !== null && compareAmounts(amount, price) < 0 ? amount : price
    if (compareAmounts(now, back) < 0) takenBack = plus(takenBack, minus(back, now))
    back = now
  }
  const last = refunds.at(-1)
  return last?.at == null ? { at: null, amount: null, takenBack } : { at: last.at, amount: back, takenBack }
}
