import type Stripe from 'stripe'
import { expectObject, type StripeSession } from './session.ts'
import { isStripeId } from './subjects.ts'

/** The subject of a queue: a subscription, or an object that leads to one. */
export type QueueTarget = { object: 'subscription' | 'invoice' | 'payment_intent' | 'charge'; id: string }

/** Null: the text is no name of a queue. The lineage of a further item is `{subscription}:{item}`. */
export function queueTargetOf(queue: string): QueueTarget | null {
  const [first = '', second] = queue.split(':')
  const isOther = (['invoice', 'payment_intent', 'charge'] as const).find(object => object === first)
  const target: QueueTarget = isOther ? { object: isOther, id: second ?? '' } : { object: 'subscription', id: first }
  return isStripeId(target.id) ? target : null
}

const idOf = (value: string | { id: string } | null | undefined): string | null => (typeof value === 'string' ? value : (value?.id ?? null))

const ofInvoice = ({ parent }: Stripe.Invoice): string | null => idOf(parent?.subscription_details?.subscription)

/** A payment belongs to one invoice; a payment that was tried for several belongs to the first that has a subscription. */
async function ofPayment({ stripe }: StripeSession, id: string): Promise<string | null> {
  const payment = { type: 'payment_intent', payment_intent: id } as const
  const payments = expectObject(await stripe.invoicePayments.list({ payment, limit: 10, expand: ['data.invoice'] }), 'list')
  for (const { invoice } of payments.data) {
    const subscription = typeof invoice === 'string' || invoice.deleted ? null : ofInvoice(invoice)
    if (subscription !== null) return subscription
  }
  return null
}

/** The subscription of a queue; null: there is none, for example for a payment without a subscription. */
export async function findSubscription(session: StripeSession, { object, id }: QueueTarget): Promise<string | null> {
  const { stripe } = session
  switch (object) {
    case 'subscription':
      return id
    case 'invoice':
      return ofInvoice(expectObject(await stripe.invoices.retrieve(id), 'invoice'))
    case 'payment_intent':
      return ofPayment(session, id)
    case 'charge': {
      const payment = idOf(expectObject(await stripe.charges.retrieve(id), 'charge').payment_intent)
      return payment === null ? null : ofPayment(session, payment)
    }
    default:
      throw object satisfies never
  }
}
