import type { Tx } from '../../store/connect.ts'
import { type Environment, now as nowOf } from '../environment.ts'
import { compareAmounts } from '../events/money.ts'
import { conflict, type Detail, invalidField, invalidFields, notFound } from '../refusal.ts'
import { STILL_ACTIVE_MS } from '../subscriptions/passing.ts'
import { PURCHASE_COLUMNS, type PurchaseRow } from '../subscriptions/purchase.ts'
import { lockUsers, requireUser } from '../users/user.ts'
import { changed } from './changes.ts'
import { lockLineageOf } from './lineage.ts'
import { getPurchase } from './list.ts'
import { refold } from './refold.ts'
import { wholeSecond } from './validate.ts'

export type PurchaseChange = {
  is_auto_renewing?: boolean
  expires_at?: string
  billing_retry_at?: string | null
  grace_period_expires_at?: string | null
  refunded_at?: string | null
  refunded_amount?: string | null
}

const FUTURE_MS = 5 * 60_000
const time = (value: string | null | undefined) => (value == null ? value : wholeSecond(value))

/** Whether auto-renew was off when a trial was two days old: what did not happen then does not happen later, when it is on again. */
function missedStillActive(row: PurchaseRow, now: string): boolean {
  const due = Date.parse(row.purchased_at) + STILL_ACTIVE_MS
  return row.auto_renew_off_at !== null && Date.parse(row.auto_renew_off_at) <= due && due <= Date.parse(now)
}

/** The facts as they would be; whatever takes something back takes what hangs on it along. */
function merge(row: PurchaseRow, change: PurchaseChange, now: string): PurchaseRow {
  const merged = { ...row }
  if (change.is_auto_renewing !== undefined && change.is_auto_renewing !== row.auto_renewing) {
    merged.auto_renewing = change.is_auto_renewing
    merged.auto_renew_off_at = change.is_auto_renewing ? null : now
    if (change.is_auto_renewing && missedStillActive(row, now)) merged.emitted = [...row.emitted, 'still_active']
  }
  if (change.expires_at !== undefined) merged.expires_at = wholeSecond(change.expires_at)
  if (change.billing_retry_at !== undefined) merged.billing_retry_at = time(change.billing_retry_at)!
  if (change.grace_period_expires_at !== undefined) merged.grace_period_expires_at = time(change.grace_period_expires_at)!
  else if (change.billing_retry_at === null) merged.grace_period_expires_at = null
  if (change.refunded_at !== undefined) merged.refunded_at = time(change.refunded_at)!
  if (change.refunded_amount !== undefined) merged.refunded_amount = change.refunded_amount
  else if (change.refunded_at === null) merged.refunded_amount = null
  if (merged.refunded_at !== null && merged.refunded_amount === null) merged.refunded_amount = row.price
  // The same amount in another notation is no change.
  if (merged.refunded_amount !== null && row.refunded_amount !== null && compareAmounts(merged.refunded_amount, row.refunded_amount) === 0)
    merged.refunded_amount = row.refunded_amount
  return merged
}

function judge(row: PurchaseRow, merged: PurchaseRow, change: PurchaseChange, now: string): void {
  const faults: Detail[] = []
  const fault = (field: keyof PurchaseChange, message: string) => faults.push({ field, message })
  if (change.expires_at !== undefined) {
    if (!row.is_subscription) fault('expires_at', 'is not allowed for a one-time purchase')
    else if (merged.expires_at! <= row.purchased_at) fault('expires_at', 'must be later than purchased_at')
  }
  if (change.billing_retry_at && merged.billing_retry_at! < row.purchased_at)
    fault('billing_retry_at', 'must not be earlier than purchased_at')
  if (merged.grace_period_expires_at !== null) {
    if (merged.billing_retry_at === null) fault('grace_period_expires_at', 'needs billing_retry_at')
    else if (merged.expires_at !== null && merged.grace_period_expires_at <= merged.expires_at)
      fault('grace_period_expires_at', 'must be later than expires_at')
  }
  if (change.refunded_at && merged.refunded_at! < row.purchased_at) fault('refunded_at', 'must not be earlier than purchased_at')
  if (change.refunded_at && Date.parse(merged.refunded_at!) > Date.parse(now) + FUTURE_MS)
    fault('refunded_at', 'lies more than 5 minutes in the future')
  if (change.refunded_amount != null) {
    if (merged.refunded_at === null) fault('refunded_amount', 'needs refunded_at')
    else if (compareAmounts(change.refunded_amount, row.amount) > 0) fault('refunded_amount', 'must be <= price')
    else if (compareAmounts(change.refunded_amount, '0') === 0 && compareAmounts(row.amount, '0') > 0)
      fault('refunded_amount', 'must be > 0')
  }
  if (faults.length > 0) throw invalidFields(faults)
}

/** Auto-renew and billing retry are matters of the subscription's last period. */
function validateState(row: PurchaseRow, change: PurchaseChange): void {
  const isLast = row.is_subscription && row.is_last
  if (change.is_auto_renewing !== undefined && !isLast) throw conflict('is_auto_renewing belongs to the last period of a subscription')
  if ((change.billing_retry_at !== undefined || change.grace_period_expires_at !== undefined) && !isLast)
    throw conflict('billing retry belongs to the last period of a subscription')
}

const FACTS = [
  'auto_renewing',
  'auto_renew_off_at',
  'expires_at',
  'billing_retry_at',
  'grace_period_expires_at',
  'refunded_at',
  'refunded_amount',
  'emitted',
] as const

async function write(tx: Tx, row: PurchaseRow): Promise<void> {
  await tx.query({
    name: 'update-purchase',
    text: `update purchases set ${FACTS.map((name, i) => `${name} = $${i + 2}`).join(', ')} where id = $1`,
    values: [row.id, ...FACTS.map(name => row[name])],
  })
}

/**
 * States what happened to a purchase whose store is not connected. Throws `not_found`; `invalid_data`; `conflict` for a verified
 * purchase, another user's shared one, or a fact that belongs to a subscription's last period alone. `before`: as it was.
 */
export async function updatePurchase(
  tx: Tx,
  environment: Environment,
  user: string,
  id: string,
  change: PurchaseChange,
): Promise<{ before: PurchaseRow; after: PurchaseRow }> {
  await requireUser(tx, environment, user)
  const { lineage } = await getPurchase(tx, environment, user, id)
  const locked = await lockLineageOf(tx, lineage)
  if (!locked) throw notFound('purchase')
  if (locked.user_id !== null) await lockUsers(tx, environment, [locked.user_id])
  const { rows } = await tx.query<PurchaseRow>(
    `select ${PURCHASE_COLUMNS} from purchases p join lineages l on l.id = p.lineage where p.environment = $1 and p.id = $2 for no key update of p`,
    [environment, id],
  )
  const before = rows[0]
  if (!before) throw notFound('purchase')
  const now = await nowOf(tx, environment)
  if (!before.is_subscription && (change.is_auto_renewing === true || change.billing_retry_at || change.grace_period_expires_at))
    throw conflict('a one-time purchase has no auto-renew and no billing retry')
  const merged = merge(before, change, now)
  judge(before, merged, change, now)
  if (before.user_id !== user) throw conflict('the purchase is shared by another user')
  if (before.verified_at !== null) throw conflict('the purchase is verified: the word of the store counts')
  validateState(before, change)
  if (FACTS.every(name => merged[name] === before[name])) return { before, after: before }
  if (merged.refunded_at === null && merged.refunded_amount !== null) throw invalidField('refunded_amount', 'needs refunded_at')
  await write(tx, merged)
  await refold(tx, environment, [user], purchases =>
    changed(
      before,
      purchases.find(purchase => purchase.id === before.id),
      now,
    ),
  )
  return { before, after: await getPurchase(tx, environment, user, id) }
}
