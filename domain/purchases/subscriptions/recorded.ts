import type { Tx } from '../../../store/connect.ts'
import { compareAmounts } from '../../events/money.ts'
import type { Environment } from '../../kernel/environment.ts'
import { inSteps } from '../../kernel/in-steps.ts'
import { FOLDED_COLUMNS, type FoldedPurchase, HISTORY_COLUMNS, type HistoryPurchase, LIST_NAMES } from './folded-purchase.ts'
import { LAST_MS, type Period, parseTime } from './period.ts'
import { postedFullRefundAt, withPostedRefunds } from './posted-refunds.ts'
import { LINEAGE_COLUMNS, type OfLineage, type PurchaseRow } from './purchase.ts'

/** SQL: the recorded purchases of a user. An ordered range, as of `postedOf`. */
export const purchasesOf = (user: string): string =>
  `(select * from purchases where environment = $1 and user_id >= ${user} and user_id <= ${user} order by user_id, purchased_at, id)`

const historyOf = (columns: string): string => `select ${columns} from unnest($2::text[]) k(user_id)
  cross join lateral ${purchasesOf('k.user_id')} p
  order by p.lineage, p.purchased_at, p.expires_at, coalesce(p.transaction_id, p.order_id, p.store_product_id) collate "C", p.id`

/**
 * With what they have from their lineages, and with posted refunds. Reads the lineages once, not with each of their rows. A sandbox reset
 * deletes lineages without a lock of their users: a purchase whose lineage is gone by then is gone too, and is left out.
 */
async function completed<P extends FoldedPurchase>(tx: Tx, environment: Environment, rows: P[]): Promise<P[]> {
  if (rows.length === 0) return rows
  const { rows: lineages } = await tx.query<OfLineage & { id: number }>({
    name: 'lineages-of-purchases',
    text: `select l.id, ${LINEAGE_COLUMNS} from lineages l where l.id = any($1::bigint[])`,
    values: [[...new Set(rows.map(({ lineage }) => lineage))]],
  })
  const ofLineage = new Map(lineages.map(({ id, ...of }) => [id, of]))
  const kept = rows.filter(({ lineage }) => ofLineage.has(lineage))
  const step = inSteps()
  for (const row of kept) {
    const lists = row as Partial<Record<(typeof LIST_NAMES)[number], unknown[] | null>>
    for (const name of LIST_NAMES) if (lists[name] === null) lists[name] = []
    row.posted_back = []
    row.repeated_refunds = []
    Object.assign(row, ofLineage.get(row.lineage))
    const pause = step(1)
    if (pause) await pause
  }
  return withPostedRefunds(tx, environment, kept)
}

/**
 * All recorded purchases of the users, by lineage and in the order of their periods. Purchases with the same begin are sorted by their
 * values and not by arrival, so the result does not depend on the order of recording. The users are locked.
 */
export async function recordedPurchases(tx: Tx, environment: Environment, users: string[]): Promise<HistoryPurchase[]> {
  const text = historyOf(HISTORY_COLUMNS)
  const { rows } = await tx.query<HistoryPurchase>({ name: 'recorded-purchases', text, values: [environment, users] })
  return completed(tx, environment, rows)
}

/** The same, with as much of each as is folded. */
export async function foldedPurchases(tx: Tx, environment: Environment, users: string[]): Promise<FoldedPurchase[]> {
  const text = historyOf(FOLDED_COLUMNS)
  const { rows } = await tx.query<FoldedPurchase>({ name: 'folded-purchases', text, values: [environment, users] })
  return completed(tx, environment, rows)
}

export type RecordedPeriod<P extends FoldedPurchase = FoldedPurchase> = Period & { purchase: P; fact: null }

const isFullRefund = ({ refunded_at, refunded_amount, amount }: FoldedPurchase): boolean =>
  refunded_at !== null && (refunded_amount === null || compareAmounts(refunded_amount, amount) >= 0)

/** A row that an older program has written states only the last change. */
const changesOf = ({ auto_renew_changes: changes, auto_renew_off_at: offAt }: FoldedPurchase): number[] =>
  changes.length === 0 && offAt !== null ? [Date.parse(offAt)] : changes.map(second => second * 1000)

/** A free period is a trial, unless its store says that a discount makes it free. */
export const isTrialPurchase = ({
  amount,
  period_type,
  is_family_shared,
}: Pick<PurchaseRow, 'amount' | 'period_type' | 'is_family_shared'>): boolean =>
  compareAmounts(amount, '0') === 0 && (period_type !== 'normal' || is_family_shared)

export function periodOf<P extends FoldedPurchase>(purchase: P): RecordedPeriod<P> {
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
    fact: null,
  }
}
