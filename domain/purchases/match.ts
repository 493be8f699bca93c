import type { StatedPeriod } from './store-facts/stated-period.ts'
import type { PeriodStatement, RenewalStatement, Statement, TransactionIds } from './store-facts/statement.ts'
import { type PurchaseRow, recordedAt } from './subscriptions/purchase.ts'
import { periodOf } from './subscriptions/recorded.ts'

const transactionOf = ({ transaction, order }: TransactionIds) => transaction ?? order
const recordedTransaction = ({ transaction_id, order_id }: PurchaseRow) => transaction_id ?? order_id

/** Whether the recorded and the stated purchase may be one transaction: its id is missing on one of the two sides. */
const mayBeSame = (row: PurchaseRow, { ids, product }: StatedPeriod): boolean =>
  (row.platform === 'stripe' || row.platform === 'play_store') &&
  row.store_product_id === product &&
  (recordedTransaction(row) === null || transactionOf(ids) === null)

const contains = (begins: string, ends: string | null | undefined, time: string) => time >= begins && (ends == null || time < ends)

type IsSame = (row: PurchaseRow, period: StatedPeriod) => boolean

/** The signs that a recorded purchase is a stated transaction, the strongest first: a caller may know the time of a purchase only roughly. */
const SIGNS: IsSame[] = [
  (row, { ids }) => transactionOf(ids) !== null && recordedTransaction(row) === transactionOf(ids),
  (row, period) => mayBeSame(row, period) && period.begins !== undefined && contains(period.begins, period.ends, row.purchased_at),
  (row, period) => mayBeSame(row, period) && period.begins !== undefined && contains(row.purchased_at, row.expires_at, period.begins),
]

/** Does not copy the rows: mostly one of the first rows is found, and there are many periods. */
function firstOf(rows: Iterable<PurchaseRow>, isFound: (row: PurchaseRow) => boolean): PurchaseRow | undefined {
  for (const row of rows) if (isFound(row)) return row
  return undefined
}

/** The recorded purchase of each transaction that a store has reported, by its subject. Each purchase belongs to one transaction at most. */
export function matchPurchases(rows: PurchaseRow[], periods: StatedPeriod[]): Map<string, PurchaseRow> {
  const matched = new Map<string, PurchaseRow>()
  const free = new Set(rows.filter(({ subject }) => subject === null))
  const take = (period: StatedPeriod, row: PurchaseRow | undefined) => {
    if (!row) return
    matched.set(period.subject, row)
    free.delete(row)
  }
  const bySubject = new Map(rows.flatMap(row => (row.subject === null ? [] : [[row.subject, row] as const])))
  const indexes = new Map(rows.map((row, i) => [row, i]))
  for (const period of periods) {
    const others = (period.aliases ?? []).flatMap(alias => bySubject.get(alias) ?? [])
    take(period, bySubject.get(period.subject) ?? others.sort((a, b) => indexes.get(a)! - indexes.get(b)!)[0])
  }
  for (const isSame of SIGNS)
    for (const period of periods.filter(({ subject }) => !matched.has(subject)))
      take(
        period,
        firstOf(free, row => isSame(row, period)),
      )
  return matched
}

const idsOf = (row: PurchaseRow): TransactionIds => ({
  transaction: row.transaction_id,
  originalTransaction: row.original_transaction_id,
  token: row.purchase_token,
  order: row.order_id,
  subscription: row.subscription_id,
  storeType: row.store_type,
})

/** Whether auto-renew was switched on or off, and who switched it off where it was not the customer. */
function reportedSwitch({ off_causes }: PurchaseRow, i: number): RenewalStatement['reported'] {
  const cause = (i % 2 === 0 && off_causes[i / 2]) || null
  return { autoRenews: i % 2 === 1, ...(cause !== null && { isVoluntary: false, hasFailed: cause === 'billing_error' }) }
}

/** The fields that a caller reported of a purchase before the store did, as statements of the caller: they count where the store states nothing. */
export function reportedByCaller(row: PurchaseRow, subject: string): Statement[] {
  const period: PeriodStatement = {
    kind: 'period',
    origin: 'caller',
    statedAt: Date.parse(recordedAt(row)),
    subject,
    ids: idsOf(row),
    reported: {
      product: row.store_product_id,
      basePlan: row.base_plan_id,
      isSubscription: row.is_subscription,
      currency: row.currency,
      price: row.price,
      begins: row.purchased_at,
      ends: row.expires_at,
      periodType: row.period_type,
      ...(row.is_discounted && { isDiscounted: true }),
      isFamilyShared: row.is_family_shared,
      country: row.country,
      ...(row.refunded_at !== null && { refund: { at: row.refunded_at, amount: row.refunded_amount } }),
      ...(row.billing_retry_at !== null && { retrySince: row.billing_retry_at, graceUntil: row.grace_period_expires_at }),
    },
  }
  const changes = row.is_subscription ? periodOf(row).autoRenewChanges : []
  const renewals = changes.map(
    (statedAt, i): RenewalStatement => ({ kind: 'renewal', origin: 'caller', statedAt, subject, reported: reportedSwitch(row, i) }),
  )
  const at = (seconds: number, reported: RenewalStatement['reported']): RenewalStatement => {
    return { kind: 'renewal', origin: 'caller', statedAt: seconds * 1000, subject, reported }
  }
  const pauses = row.pauses.map(seconds => at(seconds, { isPaused: true }))
  const resumptions = row.resumptions.map(seconds => at(seconds, { isPaused: false }))
  const planned = row.planned_changes.map(change => at(change.at, { nextProduct: change.isWithdrawn ? null : change.product }))
  return [period, ...renewals, ...pauses, ...resumptions, ...planned]
}
