import type { FoldedPurchase } from '../../purchases/subscriptions/folded-purchase.ts'
import { recordedAt } from '../../purchases/subscriptions/purchase.ts'
import { refundPartsOf } from '../../purchases/subscriptions/refund-parts.ts'
import { millionths, type Source } from './sources.ts'
import type { PostedTransaction } from './user-history.ts'

/** A refund of a transaction, or (negative) a refund that was taken back, in millionths; times in ms. */
export type Refund = { at: number; amount: bigint; recorded: number; event: string | null }

/** The refunds of a recorded purchase, stated and posted: each at its own time, in the order of their times. */
export function refundsOfPurchase(purchase: FoldedPurchase): Refund[] {
  const recorded = Date.parse(recordedAt(purchase))
  return refundPartsOf(purchase)
    .map(({ at, amount }): Refund => ({ at: Date.parse(at), amount: millionths(amount), recorded, event: null }))
    .concat(purchase.posted_back)
    .filter(({ amount }) => amount !== 0n)
    .sort((a, b) => a.at - b.at)
}

/** The credits of the store for a recorded purchase, in the order of time. */
export function creditsOfPurchase(purchase: FoldedPurchase): Refund[] {
  const recorded = Date.parse(recordedAt(purchase))
  return purchase.credits
    .map(({ at, amount }) => ({ at: Date.parse(at), amount: millionths(amount), recorded, event: null }))
    .filter(({ amount }) => amount > 0n)
}

/**
 * The refunds in posted events about one transaction, in the order of their times. The refunds never exceed `paid`, and the amounts that
 * are taken back never exceed the refunds. An event without an amount means the whole amount.
 */
export function refundsOfEvents(events: PostedTransaction[], paid: bigint): Refund[] {
  const refunds: Refund[] = []
  let back = 0n
  const size = (value: bigint) => (value < 0n ? -value : value)
  const least = (a: bigint, b: bigint) => (a < b ? a : b)
  for (const event of [...events].sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))) {
    const stated = event.price === null ? null : size(millionths(event.price))
    const left = paid - back
    const amount = event.name === 'refund_reversed' ? -least(stated ?? back, back) : least(stated ?? left, left)
    if (amount === 0n) continue
    back += amount
    refunds.push({ at: event.at, amount, recorded: event.recorded, event: event.id })
  }
  return refunds
}

/** `whole` × `part` ÷ `of`, half away from zero. */
function share(whole: bigint | null, part: bigint, of: bigint): bigint | null {
  if (whole === null || of === 0n) return null
  const size = whole * (part < 0n ? -part : part)
  const rounded = (size + of / 2n) / of
  return part < 0n ? -rounded : rounded
}

/** The parts of the stated amounts of a transaction that were refunded together with `amount` of it. */
export const statedParts = ({ amount: paid, proceeds, usdGiven, proceedsUsd }: Source, amount: bigint) => ({
  proceeds: share(proceeds, amount, paid),
  usd_given: share(usdGiven, amount, paid),
  proceeds_usd: share(proceedsUsd, amount, paid),
})

const less = (a: bigint | null, b: bigint | null): bigint | null => (a === null || b === null ? null : a - b)

/**
 * The parts of the stated amounts that were refunded when the refunds of the transaction rose from `before` to `after`. So the parts of
 * several refunds add up to the part of their sum, and a full refund leaves nothing.
 */
export function furtherParts(source: Source, before: bigint, after: bigint): ReturnType<typeof statedParts> {
  const [former, latter] = [statedParts(source, before), statedParts(source, after)]
  return {
    proceeds: less(latter.proceeds, former.proceeds),
    usd_given: less(latter.usd_given, former.usd_given),
    proceeds_usd: less(latter.proceeds_usd, former.proceeds_usd),
  }
}
