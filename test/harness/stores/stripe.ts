import type Stripe from 'stripe'
import { type VendorReply, type VendorRequest, vendor } from '../vendor.ts'

export const LIVE_KEY = 'sk_live_123'
export const TEST_KEY = 'sk_test_123'

/** The objects of one account that the local server knows, newest last, as Stripe keeps them. Parts that are not read are left out. */
export type StripeState = {
  customers: Map<string, Stripe.Customer>
  subscriptions: Map<string, Stripe.Subscription>
  invoices: Map<string, Stripe.Invoice>
  invoicePayments: Map<string, Stripe.InvoicePayment>
  charges: Map<string, Stripe.Charge>
  refunds: Map<string, Stripe.Refund>
  disputes: Map<string, Stripe.Dispute>
  checkouts: Map<string, Stripe.Checkout.Session>
  subscription_schedules: Map<string, Stripe.SubscriptionSchedule>
  events: Map<string, Stripe.Event>
}

export type StripeServer = StripeState & {
  url: string
  requests: VendorRequest[]
  /** Paths of the requests, in order. */
  calls(): string[]
  /** The most that a page of a list has, whatever is asked for. */
  pageSize: number
  /** The most that a list within an object has. */
  innerSize: number
  /** In the place of an answer; undefined: the right one. */
  instead: (request: VendorRequest) => VendorReply | undefined | Promise<VendorReply | undefined>
  /** The `Date` header; Node's own unless given. */
  date: string | null
  /** Forgets everything. */
  clear(): void
  close(): Promise<void>
}

type Thing = { id: string; livemode?: boolean; created?: number }

const fault = (status: number, code: string): VendorReply => ({
  status,
  body: { error: { type: 'invalid_request_error', code, message: code } },
})
const NOT_FOUND = fault(404, 'resource_missing')
const KINDS = [
  'customers',
  'subscriptions',
  'invoices',
  'invoicePayments',
  'charges',
  'refunds',
  'disputes',
  'checkouts',
  'subscription_schedules',
  'events',
] as const
const emptyState = () => Object.fromEntries(KINDS.map(kind => [kind, new Map()])) as unknown as StripeState

/** Stripe's API as far as the client asks it: objects and lists, of live or of test mode by the key. */
export async function stripeServer(): Promise<StripeServer> {
  const state = emptyState()

  /** Newest first, in pages. */
  function listOf<Item extends Thing>(all: Iterable<Item>, { query }: Pick<VendorRequest, 'query'>, most = server.pageSize): VendorReply {
    const since = Number(query.get('created[gte]') ?? 0)
    const found = [...all].reverse().filter(({ created }) => created === undefined || created >= since)
    const after = query.get('starting_after')
    const at = after === null ? 0 : found.findIndex(({ id }) => id === after) + 1
    const size = Math.min(most, Number(query.get('limit') ?? 10))
    return { status: 200, body: { object: 'list', data: found.slice(at, at + size), has_more: found.length > at + size, url: '/' } }
  }

  const innerList = <Item>(all: Item[]) => ({
    object: 'list' as const,
    data: all.slice(0, server.innerSize),
    has_more: all.length > server.innerSize,
    url: '/',
  })
  const shownInvoice = (invoice: Stripe.Invoice): Stripe.Invoice => ({
    ...invoice,
    lines: innerList(invoice.lines.data),
    payments: innerList([...state.invoicePayments.values()].filter(payment => payment.invoice === invoice.id)),
  })
  const withDiscountIds = (invoice: Stripe.Invoice) => ({
    ...invoice,
    discounts: (invoice.discounts ?? []).map(one => (typeof one === 'string' ? one : one.id)),
  })
  const refundsOf = (charge: string) => [...state.refunds.values()].filter(refund => refund.charge === charge)
  const shownCharge = (charge: Stripe.Charge): Stripe.Charge => ({ ...charge, refunds: innerList(refundsOf(charge.id)) })

  function one(path: string, id: string, isLive: boolean): VendorReply {
    const found = (state as unknown as Record<string, Map<string, Thing>>)[path]?.get(id)
    if (!found || found.livemode === !isLive) return NOT_FOUND
    if (path === 'invoices') return { status: 200, body: shownInvoice(found as Stripe.Invoice) }
    if (path === 'charges') return { status: 200, body: shownCharge(found as Stripe.Charge) }
    if (path !== 'subscriptions') return { status: 200, body: found }
    const subscription = found as Stripe.Subscription
    const customer = state.customers.get(subscription.customer as string) ?? {
      id: subscription.customer,
      object: 'customer',
      deleted: true,
    }
    return { status: 200, body: { ...subscription, items: innerList(subscription.items.data), customer } }
  }

  function many(path: string, requests: VendorRequest, isLive: boolean): VendorReply {
    const { query } = requests
    const by = (name: string) => query.get(name)
    switch (path) {
      case 'subscriptions':
        return listOf(
          [...state.subscriptions.values()].filter(({ livemode }) => livemode === isLive),
          requests,
        )
      case 'subscription_items':
        return listOf(state.subscriptions.get(by('subscription')!)?.items.data.toReversed() ?? [], requests)
      case 'invoices': {
        const of = [...state.invoices.values()].filter(({ parent }) => parent?.subscription_details?.subscription === by('subscription'))
        const isExpanded = [...query.values()].includes('data.discounts.source.coupon')
        return listOf(of.map(shownInvoice).map(isExpanded ? invoice => invoice : withDiscountIds), requests)
      }
      case 'invoice_payments': {
        const intent = by('payment[payment_intent]')
        const isOf = ({ invoice, payment }: Stripe.InvoicePayment) =>
          intent ? payment.payment_intent === intent : invoice === by('invoice')
        const found = [...state.invoicePayments.values()].filter(isOf)
        const expanded = found.map(payment => ({ ...payment, invoice: shownInvoice(state.invoices.get(payment.invoice as string)!) }))
        return listOf(query.has('expand[0]') ? expanded : found.toReversed(), requests)
      }
      case 'charges':
        return listOf([...state.charges.values()].filter(({ customer }) => customer === by('customer')).map(shownCharge), requests)
      case 'refunds':
        return listOf(refundsOf(by('charge')!).toReversed(), requests)
      case 'disputes':
        return listOf(
          [...state.disputes.values()].filter(({ charge }) => charge === by('charge')),
          requests,
        )
      case 'checkout/sessions':
        return listOf(
          [...state.checkouts.values()].filter(({ subscription }) => subscription === by('subscription')),
          requests,
        )
      case 'events': {
        const types = [...query].flatMap(([name, value]) => (name.startsWith('types[') ? [value] : []))
        if (types.length > 20) return fault(400, 'parameter_invalid')
        return listOf(
          [...state.events.values()].filter(({ type, livemode }) => types.includes(type) && livemode === isLive),
          requests,
        )
      }
      default:
        return NOT_FOUND
    }
  }

  function answer(request: VendorRequest): VendorReply {
    const key = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1]
    if (key !== LIVE_KEY && key !== TEST_KEY) return fault(401, 'api_key_invalid')
    const isLive = key === LIVE_KEY
    const path = request.path.replace('/v1/', '')
    const [, invoice] = /^invoices\/([^/]+)\/lines$/.exec(path) ?? []
    if (invoice !== undefined) return listOf(state.invoices.get(invoice)?.lines.data.toReversed() ?? [], request)
    const [, kind, id] = /^(subscriptions|subscription_schedules|invoices|charges)\/([^/]+)$/.exec(path) ?? []
    return kind !== undefined ? one(kind, id!, isLive) : many(path, request, isLive)
  }

  const http = await vendor(async request => {
    const reply = (await server.instead(request)) ?? answer(request)
    return typeof reply === 'string' || server.date === null ? reply : { ...reply, headers: { date: server.date, ...reply.headers } }
  })
  const server: StripeServer = {
    ...state,
    url: http.url,
    requests: http.requests,
    calls: () => http.requests.map(({ path }) => path.replace('/v1/', '')),
    pageSize: 100,
    innerSize: 10,
    instead: () => undefined,
    date: null,
    clear() {
      for (const kind of KINDS) state[kind].clear()
      Object.assign(server, { pageSize: 100, innerSize: 10, instead: () => undefined, date: null })
      http.requests.length = 0
    },
    close: http.close,
  }
  return server
}
