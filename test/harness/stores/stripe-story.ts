import type Stripe from 'stripe'
import type { StripeServer } from './stripe.ts'
import { eventBody } from './stripe-fixture.ts'
import {
  chargeObject,
  type InvoiceSetup,
  type ItemSetup,
  invoiceObject,
  itemObject,
  type LineSetup,
  paymentObject,
  seconds,
} from './stripe-objects.ts'

export const DAY_MS = 86_400_000
export const HOUR_MS = 3_600_000

export type StoryOptions = {
  id?: string
  items?: ItemSetup[]
  currency?: string
  days?: number
  trialDays?: number
  userId?: string
  country?: string | null
  livemode?: boolean
  /** What is added to each line of regular invoices. */
  line?: Partial<LineSetup>
}

export type StripePush = { id: string; at: number; type: string; body: Buffer }
export type StripeStory = ReturnType<typeof stripeStory>

const PRO: ItemSetup = { id: 'si_1', product: 'prod_pro', amount: 1000 }

/**
 * The life of one subscription at Stripe. Each step changes what the server answers, and returns the event that Stripe sends for it, which a test may
 * deliver, delay, repeat or lose. Times in ms.
 */
export function stripeStory(server: StripeServer, options: StoryOptions = {}) {
  const { id = 'sub_1', currency = 'usd', days = 30, trialDays = 0, userId, country = 'DE', livemode = true, line: extra = {} } = options
  let items = options.items ?? [PRO]
  const customer = `cus_${id}`
  const subscription = () => server.subscriptions.get(id)!
  const latest = () => server.invoices.get(subscription().latest_invoice as string)!
  let [invoices, events] = [0, 0]
  let ends = 0

  function push(type: string, object: object, at: number, before?: object): StripePush {
    const event = { at, id: `evt_${id}_${++events}`, livemode, ...(before && { before }) }
    const body = eventBody(type, object, event)
    server.events.set(event.id, JSON.parse(body.toString()) as Stripe.Event)
    return { id: event.id, at, type, body }
  }

  const set = (changes: object) => void server.subscriptions.set(id, { ...subscription(), ...changes } as Stripe.Subscription)
  const setInvoice = (invoice: Stripe.Invoice, changes: object) =>
    void server.invoices.set(invoice.id, { ...server.invoices.get(invoice.id)!, ...changes } as Stripe.Invoice)
  const updated = (at: number, before: object = {}) => push('customer.subscription.updated', subscription(), at, before)

  function invoice(at: number, reason: string, lines: LineSetup[]): Stripe.Invoice {
    const setup: InvoiceSetup = {
      id: `in_${id}_${++invoices}`,
      ...{ subscription: id, customer, currency, created: seconds(at), reason, lines, livemode, country },
    }
    server.invoices.set(setup.id, invoiceObject(setup))
    set({ latest_invoice: setup.id })
    return server.invoices.get(setup.id)!
  }

  function regular(begins: number, isTrial = false): LineSetup[] {
    ends = begins + (isTrial ? trialDays : days) * DAY_MS
    const of = { begins: seconds(begins), ends: seconds(ends) }
    set({ items: { object: 'list', data: items.map(item => itemObject(id, item, of.begins, of.ends)), has_more: false, url: '/' } })
    return items.map(({ id: item, product, amount, quantity = 1 }) => ({
      ...of,
      item,
      product,
      quantity,
      amount: isTrial ? 0 : amount * quantity,
      ...(!isTrial && extra),
    }))
  }

  function pay(at: number, of = latest()): StripePush {
    const finalized = of.status_transitions.finalized_at ?? seconds(at)
    const attempts = { attempt_count: of.attempt_count + 1, attempted: true, automatically_finalizes_at: null }
    setInvoice(of, {
      ...attempts,
      status: 'paid',
      status_transitions: { ...of.status_transitions, finalized_at: finalized, paid_at: seconds(at) },
    })
    if (of.amount_due > 0) {
      const intent = `pi_${of.id}`
      server.charges.set(`ch_${of.id}`, chargeObject(`ch_${of.id}`, intent, of, seconds(at)))
      server.invoicePayments.set(`inpay_${of.id}`, paymentObject(`inpay_${of.id}`, intent, of, seconds(at)))
    }
    if (['past_due', 'unpaid', 'incomplete'].includes(subscription().status)) set({ status: 'active' })
    return push('invoice.paid', server.invoices.get(of.id)!, at)
  }

  return {
    id,
    customer,
    subscription,
    latest,
    endsAt: () => ends,
    set,
    setInvoice,
    updated,
    push,
    invoice,
    pay,
    /** Created, and paid for the first time, or free. */
    subscribe(at: number) {
      server.customers.set(customer, { id: customer, object: 'customer', metadata: {}, address: null } as unknown as Stripe.Customer)
      server.subscriptions.set(id, {
        id,
        object: 'subscription',
        livemode,
        ...{ cancel_at: null, cancel_at_period_end: false, canceled_at: null, ended_at: null, pause_collection: null },
        ...{
          created: seconds(at),
          currency,
          customer,
          default_payment_method: null,
          latest_invoice: null,
          metadata: userId ? { user_id: userId } : {},
        },
        status: trialDays > 0 ? 'trialing' : 'active',
        trial_end: trialDays > 0 ? seconds(at + trialDays * DAY_MS) : null,
      } as unknown as Stripe.Subscription)
      pay(at, invoice(at, 'subscription_create', regular(at, trialDays > 0)))
      return push('customer.subscription.created', subscription(), at)
    },
    /** A new period has begun; its invoice is a draft for an hour. */
    draft(at = ends) {
      set({ status: 'active' })
      invoice(at, 'subscription_cycle', regular(ends))
      return updated(at, { items: {} })
    },
    renew(at = ends + HOUR_MS) {
      this.draft(ends)
      return pay(at)
    },
    /** The charge of the renewal has failed. */
    fail(at: number) {
      const of = latest()
      const transitions = { ...of.status_transitions, finalized_at: of.status_transitions.finalized_at ?? seconds(at) }
      const attempts = { attempt_count: of.attempt_count + 1, attempted: true, automatically_finalizes_at: null }
      setInvoice(of, { ...attempts, status: 'open', status_transitions: transitions })
      set({ status: 'past_due' })
      return push('invoice.payment_failed', latest(), at)
    },
    cancel(at: number) {
      set({ cancel_at_period_end: true, cancel_at: seconds(ends), canceled_at: seconds(at) })
      return updated(at, { cancel_at_period_end: false, cancel_at: null, canceled_at: null })
    },
    restart(at: number) {
      const before = { cancel_at_period_end: true, cancel_at: subscription().cancel_at, canceled_at: subscription().canceled_at }
      set({ cancel_at_period_end: false, cancel_at: null, canceled_at: null })
      return updated(at, before)
    },
    /** Ended: at the end of the period after a cancellation, at once, or because no charge succeeded. */
    end(at = ends) {
      set({ status: 'canceled', ended_at: seconds(at), canceled_at: subscription().canceled_at ?? seconds(at) })
      return push('customer.subscription.deleted', subscription(), at)
    },
    refund(at: number, amount: number | null = null, of = latest().id) {
      const charge = server.charges.get(`ch_${of}`)!
      const refund = {
        id: `re_${of}_${server.refunds.size}`,
        object: 'refund',
        amount: amount ?? charge.amount,
        charge: charge.id,
        created: seconds(at),
        currency,
        status: 'succeeded',
      } as unknown as Stripe.Refund
      server.refunds.set(refund.id, refund)
      server.charges.set(charge.id, { ...charge, amount_refunded: charge.amount_refunded + refund.amount })
      return push('charge.refunded', server.charges.get(charge.id)!, at)
    },
    /** The bank of the customer did not take the last refund. */
    refundFails(at: number) {
      const refund = [...server.refunds.values()].at(-1)!
      server.refunds.set(refund.id, { ...refund, status: 'failed' })
      return push('refund.failed', server.refunds.get(refund.id)!, at)
    },
    dispute(at: number, status: Stripe.Dispute.Status, of = latest().id) {
      const charge = server.charges.get(`ch_${of}`)!
      const dispute = { id: `du_${of}`, object: 'dispute', amount: charge.amount, charge: charge.id, currency, livemode, status } as const
      server.disputes.set(dispute.id, { ...dispute, created: seconds(at) } as unknown as Stripe.Dispute)
      server.charges.set(charge.id, { ...charge, disputed: true })
      return push('charge.dispute.closed', server.disputes.get(dispute.id)!, at)
    },
    /** Another price at once, charged at once for the rest of the period. */
    change(at: number, changed: ItemSetup[], lines: LineSetup[]) {
      items = changed
      const period = { begins: seconds(at), ends: seconds(ends) }
      set({
        items: { object: 'list', data: items.map(item => itemObject(id, item, period.begins, period.ends)), has_more: false, url: '/' },
      })
      pay(at, invoice(at, 'subscription_update', lines))
      return updated(at, { items: {} })
    },
    rest: (at: number) => ({ begins: seconds(at), ends: seconds(ends) }),
    pause(at: number) {
      set({ pause_collection: { behavior: 'void', resumes_at: null } })
      return updated(at, { pause_collection: null })
    },
    /** A period for which nothing is charged. */
    pausedPeriod() {
      const voided = invoice(ends, 'subscription_cycle', regular(ends))
      setInvoice(voided, { status: 'void', automatically_finalizes_at: null })
      return push('invoice.voided', latest(), voided.created * 1000)
    },
    resume(at: number) {
      set({ pause_collection: null })
      return updated(at, { pause_collection: { behavior: 'void', resumes_at: null } })
    },
  }
}
