import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { compareAmounts } from '../events/money.ts'
import type { Period } from './period.ts'
import { PURCHASE_COLUMNS, type PurchaseRow } from './purchase.ts'

/**
 * Every purchase that is recorded for the users, lineage by lineage in the order of their periods. Those that begin together are told
 * apart by what they are, not by which came first.
 */
export async function recordedPurchases(tx: Tx, environment: Environment, users: string[]): Promise<PurchaseRow[]> {
  const { rows } = await tx.query<PurchaseRow>({
    name: 'recorded-purchases',
    text: `select ${PURCHASE_COLUMNS} from unnest($2::text[]) k(user_id)
           cross join lateral (select * from purchases where environment = $1 and user_id = k.user_id offset 0) p
           join lineages l on l.id = p.lineage
             order by p.lineage, p.purchased_at, p.expires_at, coalesce(p.transaction_id, p.order_id, p.store_product_id) collate "C", p.id`,
    values: [environment, users],
  })
  return rows
}

const ms = (time: string | null) => (time === null ? null : Date.parse(time))

export type RecordedPeriod = Period & { purchase: PurchaseRow }

const isFullRefund = ({ refunded_at, refunded_amount, amount }: PurchaseRow): boolean =>
  refunded_at !== null && (refunded_amount === null || compareAmounts(refunded_amount, amount) >= 0)

export const periodOf = (purchase: PurchaseRow): RecordedPeriod => ({
  begins: Date.parse(purchase.purchased_at),
  expires: ms(purchase.expires_at),
  trial: compareAmounts(purchase.amount, '0') === 0,
  paid: compareAmounts(purchase.amount, '0') > 0,
  autoRenewing: purchase.auto_renewing,
  autoRenewOffAt: ms(purchase.auto_renew_off_at),
  retryAt: ms(purchase.billing_retry_at),
  graceUntil: ms(purchase.grace_period_expires_at),
  refundedAt: isFullRefund(purchase) ? ms(purchase.refunded_at) : null,
  purchase,
})
