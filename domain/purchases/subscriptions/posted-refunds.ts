import { arrayOf } from '../../../store/array-literal.ts'
import type { Tx } from '../../../store/connect.ts'
import { unscaled } from '../../events/money.ts'
import { scaled } from '../../kernel/decimal.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { FoldedPurchase } from './folded-purchase.ts'
import { REFUNDS_OF_TRANSACTION } from './posted-price.ts'
import { TARGET_PLATFORM } from './purchase.ts'
import { type PostedBack, type RepeatedRefund, refundedAmount, refundPartsOf } from './refund-parts.ts'

// A refund that is posted for a transaction which is recorded as a purchase is a refund of this purchase. Stores state the same refunds, so
// a posted refund counts only as far as the statements about the purchase lack it, whichever came first. It stays a refund of the purchase
// when the purchase passes to another user: the transaction finds it.

type PostedRefund = {
  purchase: number
  id: string
  name: string
  at: number
  /** In the currency of the purchase; null: all that is left. */
  amount: string | null
  recorded: number
}

const PLACES = 6
const DAY_OF_PURCHASE = `(k.purchased_at at time zone 'UTC')::date`

// A refund in another currency has the rates of the day of the purchase. Without rates nothing says how much of the purchase went back.
const POSTED_REFUNDS = `
  select k.purchase, e.id, e.name, (extract(epoch from e.happened_at) * 1000)::float8 as at,
    (extract(epoch from e.received_at) * 1000)::float8 as recorded,
    case when e.currency = k.currency then abs(e.price)
      else round(abs(e.price) * currency_factor(e.currency, ${DAY_OF_PURCHASE}, k.currency), ${PLACES}) end::text as amount
  from unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::timestamptz[]) k(purchase, platform, transaction, currency, purchased_at)
  cross join lateral ${REFUNDS_OF_TRANSACTION('k.transaction')} e
  where e.platform = k.platform and (e.price is null or e.currency = k.currency
    or currency_factor(e.currency, ${DAY_OF_PURCHASE}, k.currency) is not null)
  order by e.happened_at, e.id`

const least = (a: bigint, b: bigint) => (a < b ? a : b)

/**
 * The posted refunds of a purchase, in the order of their times: the amount that each adds to the stated refunds, and which of them repeat
 * a stated refund.
 */
export function postedBackOf(purchase: FoldedPurchase, refunds: PostedRefund[]): Pick<FoldedPurchase, 'posted_back' | 'repeated_refunds'> {
  const paid = scaled(purchase.amount, PLACES)
  const stated = refundPartsOf(purchase).map(({ amount }) => scaled(amount, PLACES))
  let takenBack = scaled(purchase.taken_back, PLACES)
  let left = paid - scaled(refundedAmount(purchase), PLACES)
  // The stated refunds that no posted refund has repeated yet.
  let unrepeated = stated.reduce((sum, amount) => sum + amount, 0n)
  let [posted, back] = [0n, 0n]
  const posted_back: PostedBack[] = []
  const repeated_refunds: RepeatedRefund[] = []
  for (const { id: event, name, at, recorded, amount } of refunds) {
    const size = amount === null ? null : scaled(amount, PLACES)
    if (name === 'refund_reversed') {
      const fall = least(size ?? back, back)
      posted -= least(size ?? posted, posted)
      back -= fall
      left += fall
      if (fall > 0n) posted_back.push({ at, amount: -fall, recorded, event })
      if (paid === 0n) posted_back.length = 0
      continue
    }
    const whole = size ?? paid - posted
    posted = least(posted + whole, paid)
    const same = stated.indexOf(whole)
    const isTakenBack = same < 0 && whole > 0n && whole <= takenBack
    if (same >= 0) stated.splice(same, 1)
    if (isTakenBack) takenBack -= whole
    const rise = same >= 0 || isTakenBack ? 0n : least(whole, left)
    // A store states several refunds as one, too.
    const repeated = same >= 0 || isTakenBack ? whole : least(whole - rise, unrepeated)
    if (!isTakenBack) unrepeated -= least(repeated, unrepeated)
    // The log has no money of a refund without a price.
    if (repeated > 0n && size !== null) repeated_refunds.push({ event, amount: repeated })
    if (same >= 0 || isTakenBack) continue
    if (rise <= 0n && paid > 0n) continue
    back += rise
    left -= rise
    posted_back.push({ at, amount: rise, recorded, event })
  }
  return { posted_back, repeated_refunds }
}

/** The amount that posted refunds alone gave back, as a decimal text. */
export const postedBack = ({ posted_back }: FoldedPurchase): string =>
  unscaled(
    posted_back.reduce((sum, { amount }) => sum + amount, 0n),
    PLACES,
  )

/** The time at which the whole purchase was refunded, posted refunds included; null: it is not. */
export function postedFullRefundAt(purchase: FoldedPurchase): number | null {
  const { posted_back, amount } = purchase
  if (posted_back.length === 0) return null
  const stated = refundPartsOf(purchase).map(part => ({ at: Date.parse(part.at), amount: scaled(part.amount, PLACES) }))
  let back = 0n
  let fullAt: number | null = null
  for (const part of [...stated, ...posted_back].sort((a, b) => a.at - b.at)) {
    back += part.amount
    fullAt = back < scaled(amount, PLACES) ? null : (fullAt ?? part.at)
  }
  return fullAt
}

/** Completes purchases by their posted refunds, whichever user had them when the refunds were posted. */
export async function withPostedRefunds<P extends FoldedPurchase>(tx: Tx, environment: Environment, purchases: P[]): Promise<P[]> {
  const named = purchases.filter(({ transaction_id, order_id }) => (transaction_id ?? order_id) !== null)
  if (named.length === 0) return purchases
  const { rows } = await tx.query<PostedRefund>({
    name: 'posted-refunds',
    text: POSTED_REFUNDS,
    values: [
      environment,
      arrayOf(named, ({ id }) => id),
      arrayOf(named, ({ platform }) => TARGET_PLATFORM[platform]),
      arrayOf(named, ({ transaction_id, order_id }) => transaction_id ?? order_id),
      arrayOf(named, ({ currency }) => currency),
      arrayOf(named, ({ purchased_at }) => purchased_at),
    ],
  })
  if (rows.length === 0) return purchases
  const byPurchase = Map.groupBy(rows, ({ purchase }) => purchase)
  return purchases.map(purchase => {
    const refunds = byPurchase.get(purchase.id)
    return refunds ? { ...purchase, ...postedBackOf(purchase, refunds) } : purchase
  })
}
