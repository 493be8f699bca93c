import type Stripe from 'stripe'
import { allOf, type StripeSession } from './session.ts'

const DAY_SECONDS = 86_400

/** A refund or a lost dispute: amount in the smallest unit, time in seconds. */
type BackPart = { amount: bigint; at: number }
/** The returned amount of a charge, the time of its last part, and its parts in the order of their times. */
type Back = BackPart & { parts: BackPart[] }
type KnownCharge = { charge: Stripe.Charge; back: Back | null }

/** `isWhole` false: there are older charges of the customer. */
export type FetchedCharges = { charges: KnownCharge[]; names: Map<string, string[]>; isWhole: boolean }

/** The payments of an invoice together. `back` null: nothing was returned; undefined: unknown. `country`: of the card. */
export type InvoicePayments = { back: Back | null | undefined; country: string | null }

const idOf = (value: string | { id: string } | null | undefined): string | null => (typeof value === 'string' ? value : (value?.id ?? null))

/** Failed or withdrawn refunds return nothing. Stripe counts pending refunds as refunded, too. */
const COUNTED = ['succeeded', 'pending']

/** The parts as far as they add up to `amount`: a dispute is about the whole charge, even after a refund. */
function backFrom(amount: bigint, parts: BackPart[]): Back {
  const sorted = parts.toSorted((a, b) => a.at - b.at)
  let left = amount
  const counted = sorted.map(part => {
    const taken = part.amount < left ? part.amount : left
    left -= taken
    return { ...part, amount: taken }
  })
  return { amount, at: sorted.at(-1)!.at, parts: counted }
}

async function backOf({ stripe }: StripeSession, charge: Stripe.Charge): Promise<Back | null> {
  const refunds =
    charge.amount_refunded > 0 || (charge.refunds?.data.length ?? 0) > 0
      ? await allOf(page => stripe.refunds.list({ charge: charge.id, ...page }), charge.refunds ?? undefined)
      : null
  const disputes = charge.disputed ? await allOf(page => stripe.disputes.list({ charge: charge.id, ...page })) : null
  const parts = [
    ...(refunds?.all ?? []).filter(({ status }) => COUNTED.includes(status ?? '')),
    ...(disputes?.all ?? []).filter(({ status }) => status === 'lost'),
  ]
  if (parts.length === 0) return null
  const sum = parts.reduce((all, { amount }) => all + BigInt(amount), 0n)
  const most = BigInt(charge.amount)
  return backFrom(
    sum < most ? sum : most,
    parts.map(({ amount, created }) => ({ amount: BigInt(amount), at: created })),
  )
}

/** The ids of the charges and payment intents that paid an invoice. */
async function namesOf({ stripe }: StripeSession, { id, status, payments }: Stripe.Invoice): Promise<string[]> {
  if (status !== 'paid' || !payments) return []
  const { all } = await allOf(page => stripe.invoicePayments.list({ invoice: id, ...page }), payments)
  return all.filter(one => one.status === 'paid').flatMap(({ payment }) => idOf(payment.payment_intent) ?? idOf(payment.charge) ?? [])
}

/**
 * The charges of a subscription's invoices. An invoice has the ids of its payments, but not their later state: one list of the customer's
 * charges has that for all invoices, where each invoice would need a request of its own.
 */
export async function fetchCharges(
  session: StripeSession,
  { customer, created }: Stripe.Subscription,
  invoices: Stripe.Invoice[],
): Promise<FetchedCharges> {
  const names = new Map<string, string[]>()
  for (const invoice of invoices) names.set(invoice.id, await namesOf(session, invoice))
  const wanted = new Set([...names.values()].flat())
  if (wanted.size === 0) return { charges: [], names, isWhole: true }
  const oldest = Math.min(created, ...invoices.map(invoice => invoice.created)) - DAY_SECONDS
  const filter = { customer: idOf(customer)!, created: { gte: oldest }, expand: ['data.refunds'] }
  const { all, isWhole } = await allOf(page => session.stripe.charges.list({ ...filter, ...page }))
  const charges: KnownCharge[] = []
  for (const charge of all)
    if (charge.status === 'succeeded' && [charge.id, idOf(charge.payment_intent)].some(name => name !== null && wanted.has(name)))
      charges.push({ charge, back: await backOf(session, charge) })
  return { charges, names, isWhole }
}

/**
 * The payments of an invoice, as far as they are known. An invoice that was paid without a charge, for example from a balance, has nothing
 * to refund.
 */
export function paymentsOf({ id }: Stripe.Invoice, { charges, names, isWhole }: FetchedCharges): InvoicePayments {
  const wanted = names.get(id) ?? []
  const paid = charges.filter(({ charge }) => wanted.includes(charge.id) || wanted.includes(idOf(charge.payment_intent) ?? ''))
  const country = paid.map(({ charge }) => charge.payment_method_details?.card?.country ?? null).find(one => one !== null) ?? null
  if (paid.length === 0 && wanted.length > 0 && !isWhole) return { back: undefined, country }
  const backs = paid.flatMap(({ back }) => back ?? [])
  if (backs.length === 0) return { back: null, country }
  const amount = backs.reduce((all, one) => all + one.amount, 0n)
  return {
    back: backFrom(
      amount,
      backs.flatMap(({ parts }) => parts),
    ),
    country,
  }
}
