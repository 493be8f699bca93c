// What callers state, in the words of the API, as facts of a history.
import type { Instant, Posted, Purchase, Store } from './history.ts'

type Body = Record<string, unknown>

/** One request, or one item of a batch of events. `user` and `transaction` are names of the test's own. */
export type Statement =
  | { is: 'event'; body: Body }
  | { is: 'purchase'; user: string; body: Body }
  | { is: 'update'; store: Store; transaction: string; body: Body }

export const seconds = (time: string): Instant => Math.floor(Date.parse(time) / 1000)
const timeOf = (time: unknown): Instant | null => (typeof time === 'string' ? seconds(time) : null)
const textOf = (text: unknown): string | null => (typeof text === 'string' ? text : null)

const STORES: [string, Store][] = [
  ['app_store_data', 'iOS'],
  ['play_store_data', 'Android'],
  ['stripe_store_data', 'Stripe'],
  ['paddle_store_data', 'Paddle'],
]

/** What names the transaction in its store, and its subscription. Stripe has no transactions of its own: subscription and begin. */
function namesOf(store: Store, data: Record<string, string>, begin: string): { transaction: string; lineage: string } {
  switch (store) {
    case 'iOS':
      return { transaction: data.transaction_id!, lineage: data.original_transaction_id ?? data.transaction_id! }
    case 'Android':
      return { transaction: data.order_id ?? `${data.purchase_token} ${begin}`, lineage: data.purchase_token! }
    case 'Stripe':
      return { transaction: `${data.subscription_id} ${begin}`, lineage: data.subscription_id! }
    case 'Paddle':
      return { transaction: data.transaction_id!, lineage: data.subscription_id ?? data.transaction_id! }
  }
}

export const namesOfPurchase = (body: Body) => {
  const [field, store] = STORES.find(([name]) => body[name] !== undefined)!
  const data = body[field] as Record<string, string>
  return { store, data, ...namesOf(store, data, String(body.purchased_at)) }
}

function purchaseOf(user: string, body: Body): Purchase {
  const { store, data, transaction, lineage } = namesOfPurchase(body)
  const isOneTime = body.expires_at === undefined
  return {
    is: 'purchase',
    user,
    store,
    transaction,
    lineage: isOneTime ? null : lineage,
    product: data.base_plan_id ? `${data.product_id}:${data.base_plan_id}` : data.product_id!,
    currency: body.currency as string,
    price: body.price as string,
    purchasedAt: seconds(body.purchased_at as string),
    expiresAt: timeOf(body.expires_at),
    isIntro: body.period_type === 'intro',
    isFamilyShared: body.is_family_shared === true,
    country: textOf(body.country),
    screen: textOf(body.screen_id),
    // Whoever records a period with auto-renew off does not say that it ever was on.
    autoRenewOffAt: body.is_auto_renewing === false && !isOneTime ? seconds(body.purchased_at as string) : null,
    autoRenewChanges: body.is_auto_renewing === false && !isOneTime ? [seconds(body.purchased_at as string)] : [],
    billingRetryAt: null,
    graceExpiresAt: null,
    refundedAt: null,
    refundedAmount: null,
    refundStatements: [],
  }
}

/** Auto-renew was off until it is on again. Otherwise the last word counts: cleared is never set. */
function update(purchase: Purchase, body: Body, heardAt: Instant): void {
  const isOff = purchase.autoRenewOffAt !== null
  if (body.is_auto_renewing === isOff) purchase.autoRenewChanges.push(heardAt)
  if (body.is_auto_renewing === true) purchase.autoRenewOffAt = null
  if (body.is_auto_renewing === false) purchase.autoRenewOffAt ??= heardAt
  if (body.expires_at !== undefined) purchase.expiresAt = timeOf(body.expires_at)
  if (body.billing_retry_at !== undefined) purchase.billingRetryAt = timeOf(body.billing_retry_at)
  if (body.billing_retry_at === null) purchase.graceExpiresAt = null
  if (body.grace_period_expires_at !== undefined) purchase.graceExpiresAt = timeOf(body.grace_period_expires_at)
  if (body.refunded_at !== undefined) purchase.refundedAt = timeOf(body.refunded_at)
  if (body.refunded_at === null) purchase.refundedAmount = null
  if (body.refunded_amount !== undefined) purchase.refundedAmount = textOf(body.refunded_amount)
  if (purchase.refundedAt === null) purchase.refundStatements = []
  else if (body.refunded_at !== undefined || body.refunded_amount !== undefined)
    purchase.refundStatements.push({ at: purchase.refundedAt, total: purchase.refundedAmount ?? purchase.price })
}

function postedOf(body: Body): Posted {
  const part = (name: string) => (body[name] ?? {}) as Body
  const [transaction, device, app, attribution] = [part('transaction'), part('device'), part('app'), part('attribution')]
  return {
    is: 'event',
    id: body.event_id as string,
    user: body.customer_uid as string,
    name: body.event_name as string,
    happenedAt: seconds(body.happened_at as string),
    store: textOf(body.platform) as Store | null,
    product: textOf(body.product_id),
    transaction: textOf(transaction.transaction_id),
    lineage: textOf(transaction.original_transaction_id),
    transactionDate: timeOf(transaction.transaction_date),
    expiresAt: timeOf(transaction.expires_at),
    graceExpiresAt: timeOf(transaction.grace_period_expires_at),
    currency: textOf(body.currency),
    price: textOf(body.price)?.replace('-', '') ?? null,
    proceeds: textOf(body.proceeds),
    priceUsd: textOf(body.price_usd),
    proceedsUsd: textOf(body.proceeds_usd),
    screen: textOf(body.screen_id),
    shownScreen: textOf(part('properties').screen_id),
    country: textOf(device.country),
    appVersion: textOf(app.version),
    locale: textOf(device.locale),
    device: textOf(device.id),
    mediaSource: textOf(attribution.media_source),
    campaign: textOf(attribution.campaign),
  }
}

/** What was stated, in order, with the time of the environment at which each was heard. */
export function heard(statements: { statement: Statement; heardAt: Instant }[]): (Purchase | Posted)[] {
  const arrivals: (Purchase | Posted)[] = []
  for (const { statement, heardAt } of statements)
    switch (statement.is) {
      case 'event':
        arrivals.push(postedOf(statement.body))
        break
      case 'purchase':
        arrivals.push(purchaseOf(statement.user, statement.body))
        break
      case 'update': {
        const known = arrivals.filter(arrival => arrival.is === 'purchase')
        update(known.find(one => one.store === statement.store && one.transaction === statement.transaction)!, statement.body, heardAt)
        break
      }
    }
  return arrivals
}
