import type { PaddleAdjustment, PaddleEvent, PaddleSubscription, PaddleTransaction } from '../../../workflows/stores/paddle/answers.ts'
import { type PaddleServer, paddleId } from './paddle.ts'

const DAY_MS = 86_400_000
const iso = (ms: number) => new Date(ms).toISOString()

/**
 * `price` in the lowest denomination for the whole quantity. `rest`: the part of a period that is charged, where a change is prorated; `unit`: what a
 * whole one costs then.
 */
export type StoryItem = { product: string; price: string; quantity?: number; isOnce?: boolean; rest?: string; unit?: string }

/** What is credited of the transaction before, in the lowest denomination. */
export type Credited = { product: string; amount: string }

export type PaddleStoryOptions = {
  items?: StoryItem[]
  currency?: string
  days?: number
  /** Days of a free trial before the first charge. */
  trialDays?: number
  accountId?: string
}

export type PaddlePush = { id: string; at: number; type: string; body: Uint8Array }

let stories = 0
let numbers = 0

/** The body of a notification. It is one of the account's events, too. */
export function paddlePush(server: PaddleServer, type: string, at: number, data: object): PaddlePush {
  const id = paddleId('evt', at, ++numbers)
  const event: PaddleEvent = {
    event_id: id,
    event_type: type,
    occurred_at: iso(at),
    data: structuredClone(data) as Record<string, unknown>,
  }
  server.events.push(event)
  return { id, at, type, body: Buffer.from(JSON.stringify({ ...event, notification_id: paddleId('ntf', at, numbers) })) }
}

/** A transaction as Paddle makes it. `earnings`: 90 of a hundred. */
export function paddleTransaction(
  server: PaddleServer,
  at: number,
  items: StoryItem[],
  rest: Partial<PaddleTransaction> = {},
): PaddleTransaction {
  const number = ++numbers
  const id = paddleId('txn', at, number)
  const total = items.reduce((sum, { price }) => sum + Number(price), 0)
  const transaction: PaddleTransaction = {
    id,
    status: 'completed',
    origin: 'web',
    subscription_id: null,
    currency_code: 'EUR',
    billing_period: null,
    created_at: iso(at),
    billed_at: iso(at),
    items: items.map(({ product, isOnce = false, unit }) => ({
      price: {
        ...{ id: `pri_${product}`, product_id: product, billing_cycle: isOnce ? null : { interval: 'month', frequency: 1 } },
        ...(unit !== undefined && { unit_price: { amount: unit } }),
      },
    })),
    details: {
      totals: { grand_total: String(total), earnings: String(Math.floor(total * 0.9)) },
      line_items: items.map(({ product, price, quantity = 1, rest: rate }, index) => ({
        id: paddleId('txnitm', at, number * 100 + index),
        price_id: `pri_${product}`,
        quantity,
        totals: { total: price },
        ...(rate !== undefined && { proration: { rate } }),
      })),
    },
    payments: [{ status: 'captured', created_at: iso(at) }],
    custom_data: null,
    ...rest,
  }
  server.transactions.set(id, transaction)
  return transaction
}

/** Something given back of a transaction, or of one of its products. `amount` null: all. */
export function paddleAdjustment(
  server: PaddleServer,
  { id: transaction_id, details, items = [] }: PaddleTransaction,
  at: number,
  { amount = null, product, ...rest }: Partial<PaddleAdjustment> & { amount?: string | null; product?: string },
): PaddleAdjustment {
  const lines = (details?.line_items ?? []).filter((_, index) => product === undefined || items[index]?.price?.product_id === product)
  const adjustment: PaddleAdjustment = {
    id: paddleId('adj', at, ++numbers),
    action: 'refund',
    status: 'approved',
    transaction_id,
    created_at: iso(at),
    updated_at: iso(at),
    items: lines.map(({ id, totals }) => ({ item_id: id!, totals: { total: amount ?? totals!.total! } })),
    ...rest,
  }
  server.adjustments.set(adjustment.id, adjustment)
  return adjustment
}

/**
 * The life of one subscription at Paddle. Each step changes what the server answers and returns the events that Paddle posts for it, which a test
 * may deliver, delay, repeat or lose. Times in ms.
 */
export function paddleStory(server: PaddleServer, options: PaddleStoryOptions = {}) {
  const { currency = 'EUR', days = 30, trialDays = 0, accountId } = options
  let items = options.items ?? [{ product: 'pro', price: '1000' }]
  const id = paddleId('sub', 1_700_000_000_000, ++stories)
  const custom_data = accountId === undefined ? null : { user_id: accountId }
  let ends = 0
  let latest!: PaddleTransaction
  const state = (): PaddleSubscription => server.subscriptions.get(id)!
  const plans = () => items.filter(({ isOnce }) => !isOnce)

  function change(at: number, fields: Partial<PaddleSubscription>): PaddleSubscription {
    const subscription = { ...(server.subscriptions.get(id) ?? { id }), ...fields, updated_at: iso(at) }
    server.subscriptions.set(id, subscription)
    return subscription
  }
  const push = (type: string, at: number, fields: Partial<PaddleSubscription> = {}) =>
    paddlePush(server, `subscription.${type}`, at, change(at, fields))
  const transactionPush = (type: string, at: number) => paddlePush(server, `transaction.${type}`, at, latest)
  const itemsNow = (): PaddleSubscription['items'] =>
    plans().map(({ product, quantity = 1 }) => ({
      quantity,
      recurring: true,
      price: { id: `pri_${product}`, product_id: product, billing_cycle: { interval: 'month', frequency: 1 } },
    }))

  function period(from: number, length: number) {
    ends = from + length * DAY_MS
    return { starts_at: iso(from), ends_at: iso(ends) }
  }

  function charge(at: number, charged: StoryItem[], rest: Partial<PaddleTransaction>): PaddleTransaction {
    latest = paddleTransaction(server, at, charged, { subscription_id: id, currency_code: currency, custom_data, ...rest })
    return latest
  }

  /** The next period has begun, and is billed. */
  function bill(at: number, status: string, payments: PaddleTransaction['payments']): PaddlePush {
    const billing_period = period(at, days)
    charge(at, plans(), { origin: 'subscription_recurring', billing_period, status, payments: payments! })
    return push('updated', at, { status: 'active', current_billing_period: billing_period, paused_at: null, scheduled_change: null })
  }

  function pay(at: number): void {
    latest.status = 'completed'
    latest.payments = [...(latest.payments ?? []), { status: 'captured', created_at: iso(at) }]
  }

  return {
    id,
    state,
    latest: () => latest,
    endsAt: () => ends,
    subscribe(at: number): PaddlePush[] {
      const isTrial = trialDays > 0
      const billing_period = period(at, isTrial ? trialDays : days)
      const charged = isTrial ? items.map(item => (item.isOnce ? item : { ...item, price: '0' })) : items
      const before = { ...charge(at, charged, { billing_period }), subscription_id: null, billing_period: null }
      const paid = paddlePush(server, 'transaction.paid', at, before)
      const status = isTrial ? 'trialing' : 'active'
      const fields = {
        status,
        started_at: iso(at),
        created_at: iso(at),
        current_billing_period: billing_period,
        custom_data,
        items: itemsNow()!,
      }
      return [
        paid,
        push('created', at + 1000, { ...fields, scheduled_change: null, canceled_at: null, paused_at: null }),
        transactionPush('completed', at + 2000),
      ]
    },
    /** Billed, and paid at once. */
    renew(at = ends): PaddlePush[] {
      const updated = bill(at, 'completed', [{ status: 'captured', created_at: iso(at) }])
      return [updated, transactionPush('completed', at + 2000)]
    },
    /** Billed, and not paid yet. */
    bill: (at = ends): PaddlePush[] => [bill(at, 'billed', []), transactionPush('billed', at)],
    /** Billed, and the charge has failed. */
    fail(at = ends): PaddlePush[] {
      bill(at, 'past_due', [{ status: 'error', created_at: iso(at + 5000) }])
      return [transactionPush('payment_failed', at + 5000), push('past_due', at + 6000, { status: 'past_due' })]
    },
    recover(at: number): PaddlePush[] {
      pay(at)
      return [transactionPush('completed', at), push('updated', at + 1000, { status: 'active' })]
    },
    /** With the end of the period. */
    scheduleCancel: (at: number): PaddlePush[] => [
      push('updated', at, { scheduled_change: { action: 'cancel', effective_at: iso(ends) } }),
    ],
    schedulePause: (at: number): PaddlePush[] => [push('updated', at, { scheduled_change: { action: 'pause', effective_at: iso(ends) } })],
    unschedule: (at: number): PaddlePush[] => [push('updated', at, { scheduled_change: null })],
    /** Ended: at once, as scheduled, or after all charges failed. */
    cancel(at = ends): PaddlePush[] {
      if (latest.status === 'past_due') latest.status = 'canceled'
      const fields = { status: 'canceled', canceled_at: iso(at), scheduled_change: null, current_billing_period: null }
      return [push('canceled', at, fields)]
    },
    pause: (at = ends): PaddlePush[] => [push('paused', at, { status: 'paused', paused_at: iso(at), scheduled_change: null })],
    resume(at: number): PaddlePush[] {
      bill(at, 'completed', [{ status: 'captured', created_at: iso(at) }])
      return [push('resumed', at, {}), transactionPush('completed', at + 2000)]
    },
    /** Other items, with a charge for the rest of the period; `credited`: what was paid for before. Without a charge they count from the renewal on. */
    changeItems(at: number, next: StoryItem[], charged: StoryItem[] = [], credited: Credited[] = []): PaddlePush[] {
      const before = latest
      items = next
      if (charged.length > 0)
        charge(at, charged, { origin: 'subscription_update', billing_period: { starts_at: iso(at), ends_at: iso(ends) } })
      for (const one of credited) paddleAdjustment(server, before, at, { action: 'credit', ...one })
      const updated = push('updated', at, { items: itemsNow()! })
      return charged.length > 0 ? [updated, transactionPush('completed', at)] : [updated]
    },
    /** Gives back a part; null: all. `of`: a transaction, the latest unless given. */
    refund(at: number, amount: string | null = null, rest: Parameters<typeof paddleAdjustment>[3] = {}, of = latest): PaddlePush[] {
      const adjustment = paddleAdjustment(server, of, at, { ...rest, amount })
      return [paddlePush(server, 'adjustment.created', at, { ...adjustment, subscription_id: id })]
    },
    /** The last adjustment gets another status. */
    settle(at: number, status: string): PaddlePush[] {
      const adjustment = [...server.adjustments.values()].findLast(one => one.action !== 'chargeback_reverse')!
      Object.assign(adjustment, { status, updated_at: iso(at) })
      return [paddlePush(server, 'adjustment.updated', at, { ...adjustment, subscription_id: id })]
    },
  }
}
