import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { compareAmounts } from '../events/money.ts'
import { LAST_MS, type Period, parseTime } from './period.ts'
import { postedFullRefundAt, withPostedRefunds } from './posted-refunds.ts'
import { PURCHASE_COLUMNS, type PurchaseRow } from './purchase.ts'

/** SQL: the recorded purchases of a user. An ordered range, as of `postedOf`. */
export const purchasesOf = (user: string): string =>
  `(select * from purchases where environment = $1 and user_id >= ${user} and user_id <= ${user} order by user_id, purchased_at, id)`

/**
 * All recorded purchases of the users, by lineage and in the order of their periods. Purchases with the same begin are sorted by their
 * values and not by arrival, so the result does not depend on the order of recording.
 */
export async function recordedPurchases(tx: Tx, environment: Environment, users: string[]): Promise<PurchaseRow[]> {
  const { rows } = await tx.query<PurchaseRow>({
    name: 'recorded-purchases',
    text: `select ${PURCHASE_COLUMNS} from unnest($2::text[]) k(user_id)
           cross join lateral ${purchasesOf('k.user_id')} p
           join lineages l on l.id = p.lineage
             order by p.lineage, p.purchased_at, p.expires_at, coalesce(p.transaction_id, p.order_id, p.store_product_id) collate "C", p.id`,
    values: [environment, users],
  })
  return withPostedRefunds(tx, environment, rows)
}

export type RecordedPeriod = Period & { purchase: PurchaseRow }

const isFullRefund = ({ refunded_at, refunded_amount, amount }: PurchaseRow): boolean =>
  refunded_at !== null && (refunded_amount === null || compareAmounts(refunded_amount, amount) >= 0)

/** A row that an older program has written states only the last change. */
const changesOf = ({ auto_renew_changes: changes, auto_renew_off_at: offAt }: PurchaseRow): number[] =>
  changes.length === 0 && offAt !== null ? [Date.parse(offAt)] : changes.map(second => second * 1000)

/** A free period is a trial, unless its store says that a discount makes it free. */
export const isTrialPurchase = ({ amount, period_type, is_family_shared }: PurchaseRow): boolean =>
  compareAmounts(amount, '0') === 0 && (period_type !== 'normal' || is_family_shared)

export function periodOf(purchase: PurchaseRow): RecordedPeriod {
  const isTrial = isTrialPurchase(purchase)
  return {
    begins: Date.parse(purchase.purchased_at),
    expires: parseTime(purchase.expires_at),
    trial: isTrial,
    paid: !isTrial,
    autoRenewing: purchase.auto_renewing,
    autoRenewOffAt: parseTime(purchase.auto_renew_off_at),
    autoRenewChanges: changesOf(purchase),
    offCauses: purchase.off_causes,
    isNewBuy: purchase.is_new_buy,
    retryAt: parseTime(purchase.billing_retry_at),
    graceUntil: parseTime(purchase.grace_period_expires_at),
    refundedAt: isFullRefund(purchase) ? parseTime(purchase.refunded_at) : postedFullRefundAt(purchase),
    endStated: false,
    statedUntil: purchase.is_connected ? (parseTime(purchase.stated_until) ?? -LAST_MS) : null,
    purchase,
  }
}
