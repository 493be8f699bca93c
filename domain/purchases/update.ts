import type { Tx } from '../../store/connect.ts'
import { NO_PRODUCT_ID, PRODUCT_ID } from '../catalogue/products/product.ts'
import { compareAmounts, minus, plus } from '../events/money.ts'
import { type Environment, now as nowOf } from '../kernel/environment.ts'
import { MAX_AHEAD_MS, TOO_FAR_AHEAD } from '../kernel/limits.ts'
import { conflict, type Detail, invalidField, invalidFields, notFound, Refusal } from '../kernel/refusal.ts'
import { lockUsers, requireUser } from '../users/user.ts'
import { lockLineageOf } from './lineage.ts'
import { getPurchase } from './read.ts'
import { lockPurchase } from './record.ts'
import { refold } from './refold.ts'
import { type PurchaseRow, shownProduct } from './subscriptions/purchase.ts'
import { periodOf } from './subscriptions/recorded.ts'
import { refundedAmount, refundPartsAfter, refundPartsOf } from './subscriptions/refund-parts.ts'
import { wholeSecond } from './validate.ts'

type PurchaseChange = {
  is_auto_renewing?: boolean
  is_voluntary?: boolean
  is_paused?: boolean
  planned_product_id?: string | null
  expires_at?: string
  billing_retry_at?: string | null
  grace_period_expires_at?: string | null
  refunded_at?: string | null
  refunded_amount?: string | null
}

/**
 * Switches auto-renew off or on. If another party than the customer switches it off during billing retry, the store has given up because
 * the charge failed.
 */
function mergeAutoRenew(row: PurchaseRow, { is_auto_renewing: isOn, is_voluntary }: PurchaseChange, now: string): Partial<PurchaseRow> {
  if (isOn === undefined || isOn === row.auto_renewing) return {}
  const changes = periodOf(row).autoRenewChanges
  const before = { auto_renewing: isOn, auto_renew_changes: [...changes, Date.parse(now)].map(ms => ms / 1000) }
  if (isOn) return { ...before, auto_renew_off_at: null }
  const cause = is_voluntary !== false ? null : row.billing_retry_at === null ? 'store' : 'billing_error'
  // A row that an older program has written has no causes.
  const causes = Array.from({ length: changes.length / 2 }, (_, i) => row.off_causes[i] ?? null)
  return { ...before, auto_renew_off_at: now, off_causes: cause === null && causes.every(one => one === null) ? [] : [...causes, cause] }
}

const givenTime = (value: string | null | undefined) => (value == null ? value : wholeSecond(value))

/** Begins or ends a pause, plans a change of product or withdraws it, as of now. A fact that is stated already changes nothing. */
function mergePlans(row: PurchaseRow, { is_paused, planned_product_id: planned }: PurchaseChange, now: string): Partial<PurchaseRow> {
  const at = Date.parse(now) / 1000
  const merged: Partial<PurchaseRow> = {}
  if (is_paused !== undefined && is_paused !== row.is_paused) {
    merged.is_paused = is_paused
    if (is_paused) merged.pauses = [...row.pauses, at]
    else merged.resumptions = [...row.resumptions, at]
  }
  if (planned !== undefined && planned !== row.planned_product) {
    merged.planned_product = planned
    const change = planned === null ? { product: row.planned_product!, isWithdrawn: true } : { product: planned, isWithdrawn: false }
    merged.planned_changes = [...row.planned_changes, { at, ...change }]
  }
  return merged
}

/** The facts with the change applied. Removing a fact removes the facts that depend on it. */
function merge(row: PurchaseRow, change: PurchaseChange, now: string): PurchaseRow {
  const merged = { ...row, ...mergePlans(row, change, now) }
  if (change.expires_at !== undefined) merged.expires_at = wholeSecond(change.expires_at)
  if (change.billing_retry_at !== undefined) merged.billing_retry_at = givenTime(change.billing_retry_at)!
  Object.assign(merged, mergeAutoRenew(merged, change, now))
  merged.first_retry_at = row.first_retry_at ?? merged.billing_retry_at
  if (change.grace_period_expires_at !== undefined) merged.grace_period_expires_at = givenTime(change.grace_period_expires_at)!
  else if (change.billing_retry_at === null) merged.grace_period_expires_at = null
  if (change.refunded_at !== undefined) merged.refunded_at = givenTime(change.refunded_at)!
  if (change.refunded_amount !== undefined) merged.refunded_amount = change.refunded_amount
  else if (change.refunded_at === null) merged.refunded_amount = null
  if (merged.refunded_at !== null && merged.refunded_amount === null) merged.refunded_amount = row.price
  // The same amount in another notation is not a change.
  if (merged.refunded_amount !== null && row.refunded_amount !== null && compareAmounts(merged.refunded_amount, row.refunded_amount) === 0)
    merged.refunded_amount = row.refunded_amount
  const fall = minus(refundedAmount(row), refundedAmount(merged))
  if (compareAmounts(fall, '0') > 0) merged.taken_back = plus(row.taken_back, fall)
  const isRefundStated = change.refunded_at !== undefined || change.refunded_amount !== undefined
  if (merged.refunded_at === null) merged.refunds = row.refunds.length > 0 ? [] : row.refunds
  else if (isRefundStated && (compareAmounts(fall, '0') !== 0 || merged.refunded_at !== row.refunded_at))
    merged.refunds = refundPartsAfter(refundPartsOf(row), refundedAmount(merged), merged.refunded_at)
  return merged
}

function validateFacts(row: PurchaseRow, merged: PurchaseRow, change: PurchaseChange, now: string): void {
  const faults: Detail[] = []
  const fault = (field: keyof PurchaseChange, message: string) => faults.push({ field, message })
  if (change.expires_at !== undefined) {
    if (!row.is_subscription) fault('expires_at', 'is not allowed for a one-time purchase')
    else if (merged.expires_at! <= row.purchased_at) fault('expires_at', 'must be later than purchased_at')
  }
  if (change.is_voluntary !== undefined && change.is_auto_renewing !== false)
    fault('is_voluntary', 'is only allowed with is_auto_renewing false')
  if (change.planned_product_id != null && change.planned_product_id === shownProduct(row))
    fault('planned_product_id', 'must differ from product_id')
  if (change.billing_retry_at && merged.billing_retry_at! < row.purchased_at)
    fault('billing_retry_at', 'must not be earlier than purchased_at')
  if (merged.grace_period_expires_at !== null) {
    if (merged.billing_retry_at === null) fault('grace_period_expires_at', 'needs billing_retry_at')
    else if (merged.expires_at !== null && merged.grace_period_expires_at <= merged.expires_at)
      fault('grace_period_expires_at', 'must be later than expires_at')
  }
  if (change.refunded_at && merged.refunded_at! < row.purchased_at) fault('refunded_at', 'must not be earlier than purchased_at')
  if (change.refunded_at && Date.parse(merged.refunded_at!) > Date.parse(now) + MAX_AHEAD_MS) fault('refunded_at', TOO_FAR_AHEAD)
  if (change.refunded_amount != null) {
    if (merged.refunded_at === null) fault('refunded_amount', 'needs refunded_at')
    else if (compareAmounts(change.refunded_amount, row.amount) > 0) fault('refunded_amount', 'must be <= price')
    else if (compareAmounts(change.refunded_amount, '0') === 0 && compareAmounts(row.amount, '0') > 0)
      fault('refunded_amount', 'must be > 0')
  }
  if (faults.length > 0) throw invalidFields(faults)
}

/** Only the last period of a subscription has auto-renew and billing retry. */
function validateState(row: PurchaseRow, change: PurchaseChange): void {
  const isLast = row.is_subscription && row.is_last
  for (const field of ['is_auto_renewing', 'is_paused', 'planned_product_id'] as const)
    if (change[field] !== undefined && !isLast) throw conflict(`only the last period of a subscription has ${field}`)
  if ((change.billing_retry_at !== undefined || change.grace_period_expires_at !== undefined) && !isLast)
    throw conflict('only the last period of a subscription has billing retry')
}

const FACTS = [
  'auto_renewing',
  'auto_renew_off_at',
  'auto_renew_changes',
  'off_causes',
  'is_paused',
  'pauses',
  'resumptions',
  'planned_product',
  'planned_changes',
  'expires_at',
  'billing_retry_at',
  'first_retry_at',
  'grace_period_expires_at',
  'refunded_at',
  'refunded_amount',
  'taken_back',
  'refunds',
] as const

const isJson = (name: (typeof FACTS)[number]) => name === 'refunds' || name === 'planned_changes'

async function writeFacts(tx: Tx, row: PurchaseRow): Promise<void> {
  await tx.query({
    name: 'update-purchase',
    text: `update purchases set ${FACTS.map((name, i) => `${name} = $${i + 2}`).join(', ')}, updated_at = environment_now(environment) where id = $1`,
    values: [row.id, ...FACTS.map(name => (isJson(name) ? JSON.stringify(row[name]) : row[name]))],
  })
}

const TAKES_SUBSCRIPTION = ['is_auto_renewing', 'is_paused', 'planned_product_id', 'billing_retry_at', 'grace_period_expires_at'] as const

/**
 * Changes the facts of a purchase whose store is not connected. Throws `not_found`; `invalid_data`; `conflict` for a verified purchase, for
 * a purchase that another user shares, or for a fact that only the last period of a subscription has. `before`: the row before the change.
 */
export async function updatePurchase(
  tx: Tx,
  environment: Environment,
  user: string,
  id: string,
  change: PurchaseChange,
): Promise<{ before: PurchaseRow; after: PurchaseRow }> {
  const { planned_product_id: planned } = change
  if (planned != null && !PRODUCT_ID.test(planned))
    throw new Refusal('invalid_product_id', `planned_product_id ${NO_PRODUCT_ID}`, [
      { field: 'planned_product_id', message: NO_PRODUCT_ID },
    ])
  await requireUser(tx, environment, user)
  const { lineage } = await getPurchase(tx, environment, user, id)
  const locked = await lockLineageOf(tx, lineage)
  if (!locked) throw notFound('purchase')
  if (locked.user_id !== null) await lockUsers(tx, environment, [locked.user_id])
  const before = await lockPurchase(tx, environment, id)
  if (!before) throw notFound('purchase')
  const now = await nowOf(tx, environment)
  if (!before.is_subscription && TAKES_SUBSCRIPTION.some(field => change[field]))
    throw conflict('a one-time purchase has no auto-renew, no pause, no planned product and no billing retry')
  const merged = merge(before, change, now)
  validateFacts(before, merged, change, now)
  if (before.user_id !== user) throw conflict('the purchase is shared by another user')
  if (before.verified_at !== null) throw conflict('the purchase is verified: only the store changes it')
  validateState(before, change)
  if (FACTS.every(name => merged[name] === before[name])) return { before, after: before }
  if (merged.refunded_at === null && merged.refunded_amount !== null) throw invalidField('refunded_amount', 'needs refunded_at')
  await writeFacts(tx, merged)
  await refold(tx, environment, [user])
  return { before, after: await getPurchase(tx, environment, user, id) }
}
