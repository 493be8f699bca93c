import type Stripe from 'stripe'

// Objects of Stripe's API as its version 2026-10-28 shows them, without what nobody reads.

export const seconds = (ms: number): number => Math.floor(ms / 1000)

export type ItemSetup = { id: string; product: string; amount: number; quantity?: number }

export const itemObject = (subscription: string, { id, product, amount, quantity = 1 }: ItemSetup, begins: number, ends: number) =>
  ({
    id,
    object: 'subscription_item',
    created: begins,
    current_period_start: begins,
    current_period_end: ends,
    metadata: {},
    price: {
      ...{ id: `price_${product}`, object: 'price', product, type: 'recurring', unit_amount: amount },
      recurring: { interval: 'month', interval_count: 1 },
    },
    quantity,
    subscription,
  }) as unknown as Stripe.SubscriptionItem

export type LineSetup = {
  item?: string
  product?: string
  amount: number
  begins: number
  ends: number
  quantity?: number
  isProration?: boolean
  discounts?: number[]
  exclusiveTax?: number
  inclusiveTax?: number
  /** A charge that the app has added, or a change that is charged as an item of the invoice. */
  isAdded?: boolean
}

function lineObject(subscription: string, invoice: string, index: number, setup: LineSetup): Stripe.InvoiceLineItem {
  const {
    item,
    product,
    amount,
    begins,
    ends,
    quantity = 1,
    isProration = false,
    discounts = [],
    exclusiveTax,
    inclusiveTax,
    isAdded,
  } = setup
  const details = { invoice_item: isProration ? `ii_${index}` : null, proration: isProration, proration_details: null, subscription }
  const taxes = [
    ...(exclusiveTax === undefined ? [] : [{ amount: exclusiveTax, tax_behavior: 'exclusive' }]),
    ...(inclusiveTax === undefined ? [] : [{ amount: inclusiveTax, tax_behavior: 'inclusive' }]),
  ]
  return {
    id: `il_${invoice}_${index}`,
    object: 'line_item',
    amount,
    subtotal: amount,
    discount_amounts: discounts.map((discount, n) => ({ amount: discount, discount: `di_${n}` })),
    taxes,
    quantity,
    invoice,
    period: { start: begins, end: ends },
    parent: isAdded
      ? { type: 'invoice_item_details', invoice_item_details: details, subscription_item_details: null }
      : {
          type: 'subscription_item_details',
          invoice_item_details: null,
          subscription_item_details: { ...details, subscription_item: item },
        },
    pricing: { type: 'price_details', price_details: { price: `price_${product}`, product }, unit_amount_decimal: null },
  } as unknown as Stripe.InvoiceLineItem
}

export type InvoiceSetup = {
  id: string
  subscription: string
  customer: string
  currency: string
  created: number
  reason: string
  lines: LineSetup[]
  livemode: boolean
  country: string | null
}

export function invoiceObject(setup: InvoiceSetup): Stripe.Invoice {
  const { id, subscription, customer, currency, created, reason, lines, livemode, country } = setup
  const total = lines.reduce(
    (sum, { amount, discounts = [], exclusiveTax = 0 }) => sum + amount + exclusiveTax - discounts.reduce((a, b) => a + b, 0),
    0,
  )
  return {
    id,
    object: 'invoice',
    livemode,
    amount_due: Math.max(0, total),
    total,
    attempt_count: 0,
    attempted: false,
    auto_advance: true,
    automatically_finalizes_at: created + 3600,
    billing_reason: reason,
    created,
    currency,
    customer,
    customer_address: country === null ? null : { country },
    parent: { type: 'subscription_details', quote_details: null, subscription_details: { subscription, metadata: {} } },
    status: 'draft',
    status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
    lines: { object: 'list', data: lines.map((line, n) => lineObject(subscription, id, n, line)), has_more: false, url: '/' },
  } as unknown as Stripe.Invoice
}

export const chargeObject = (id: string, intent: string, invoice: Stripe.Invoice, created: number) =>
  ({
    id,
    object: 'charge',
    livemode: invoice.livemode,
    amount: invoice.amount_due,
    amount_captured: invoice.amount_due,
    amount_refunded: 0,
    created,
    currency: invoice.currency,
    customer: invoice.customer,
    disputed: false,
    payment_intent: intent,
    payment_method_details: { type: 'card', card: { country: 'FR' } },
    status: 'succeeded',
  }) as unknown as Stripe.Charge

export const paymentObject = (id: string, intent: string, invoice: Stripe.Invoice, created: number) =>
  ({
    id,
    object: 'invoice_payment',
    livemode: invoice.livemode,
    amount_paid: invoice.amount_due,
    created,
    currency: invoice.currency,
    invoice: invoice.id,
    payment: { type: 'payment_intent', payment_intent: intent },
    status: 'paid',
  }) as unknown as Stripe.InvoicePayment
