import type Stripe from 'stripe'
import { type FetchedCharges, fetchCharges, type InvoicePayments, paymentsOf } from './fetch-charges.ts'
import { fetchSchedule } from './fetch-schedule.ts'
import { allOf, expectObject, type StripeSession, unless } from './session.ts'

export type KnownInvoice = { invoice: Stripe.Invoice; lines: Stripe.InvoiceLineItem[]; payments: InvoicePayments }

/** Everything that Stripe reports of a subscription. `invoices`: in the order of their creation. `isWhole` false: older ones are left out. */
export type KnownSubscription = {
  subscription: Stripe.Subscription
  items: Stripe.SubscriptionItem[]
  customer: Stripe.Customer | null
  /** Undefined: the key has no permission to read it. */
  schedule: Stripe.SubscriptionSchedule | null | undefined
  accountId: string | null
  invoices: KnownInvoice[]
  isWhole: boolean
  statedAt: number
}

/** Not paid yet for the first time, or never paid: there is no purchase. */
export const wasEverPaid = ({ status }: Stripe.Subscription): boolean => status !== 'incomplete' && status !== 'incomplete_expired'

const userIn = (metadata: Stripe.Metadata | null | undefined): string | null => metadata?.user_id || null

/** The app's data at Stripe about the account. The project's key may have no permission to read checkouts. */
async function accountOf({ stripe }: StripeSession, subscription: Stripe.Subscription, customer: Stripe.Customer | null) {
  const named = userIn(subscription.metadata) ?? userIn(customer?.metadata)
  if (named !== null) return named
  const sessions = await unless('refused', stripe.checkout.sessions.list({ subscription: subscription.id, limit: 1 }))
  return (sessions && expectObject(sessions, 'list').data[0]?.client_reference_id) || null
}

async function linesOf({ stripe }: StripeSession, { id, lines }: Stripe.Invoice): Promise<Stripe.InvoiceLineItem[]> {
  return (await allOf(page => stripe.invoices.listLineItems(id, page), expectObject(lines, 'list'))).all
}

const byCreation = (a: Stripe.Invoice, b: Stripe.Invoice) => a.created - b.created || (a.id < b.id ? -1 : 1)

/** Each discount with its coupon, which states for how many periods it applies. */
const COUPONS = 'data.discounts.source.coupon'

/** The project's key may have no permission to read coupons; Stripe then refuses a list that includes them. */
async function invoicesOf({ stripe }: StripeSession, subscription: string) {
  const listed = (...parts: string[]) => allOf(page => stripe.invoices.list({ subscription, expand: ['data.payments', ...parts], ...page }))
  return (await unless('refused', listed(COUPONS))) ?? listed()
}

/** Nothing else is fetched of a subscription that was never paid. */
export async function fetchStripeSubscription(session: StripeSession, id: string): Promise<KnownSubscription> {
  const { stripe } = session
  const retrieved = await stripe.subscriptions.retrieve(id, { expand: ['customer', 'default_payment_method'] })
  const subscription = expectObject(retrieved, 'subscription')
  const customer = typeof subscription.customer === 'string' || subscription.customer.deleted ? null : subscription.customer
  const common = { subscription, customer }
  if (!wasEverPaid(subscription))
    return { ...common, items: [], schedule: null, accountId: null, invoices: [], isWhole: true, statedAt: session.statedAt() }
  const items = await allOf(page => stripe.subscriptionItems.list({ subscription: id, ...page }), expectObject(subscription.items, 'list'))
  const { all, isWhole } = await invoicesOf(session, id)
  const charges: FetchedCharges = await fetchCharges(session, subscription, all)
  const invoices: KnownInvoice[] = []
  for (const invoice of all.sort(byCreation))
    invoices.push({ invoice, lines: await linesOf(session, invoice), payments: paymentsOf(invoice, charges) })
  const accountId = await accountOf(session, subscription, customer)
  const schedule = await fetchSchedule(session, subscription)
  return { ...common, items: items.all, schedule, accountId, invoices, isWhole, statedAt: session.statedAt() }
}
