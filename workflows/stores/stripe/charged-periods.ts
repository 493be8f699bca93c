import type Stripe from 'stripe'
import type { KnownInvoice, KnownSubscription } from './fetch-subscription.ts'

/**
 * The charge of a paid invoice for one item and one time. Times in seconds; `price` in the smallest unit. `isProration`: for the rest of a
 * period, after a change. `isRegular`: the period of the item for which the invoice was made. `key`: its name within the invoice.
 * `undiscounted`: the amounts of the lines alone, without discounts and without tax that is added. `planPrice`: the id of the price of the
 * plan. `isDiscountedOnce`: all discounts are for this invoice alone.
 */
export type ChargedPeriod = {
  key: string
  item: string
  product: string
  begins: number
  ends: number
  price: bigint
  undiscounted: bigint
  planPrice: string | undefined
  quantity: number
  isProration: boolean
  isRegular: boolean
  isDiscountedOnce: boolean
  of: KnownInvoice
}

/** The credit of an invoice for the rest of a period, because the item was changed or removed at `at`. `units` > 0, or 0 for a free period. */
export type InvoiceCredit = { item: string; at: number; units: bigint; invoice: string }

export type Charged = { periods: ChargedPeriod[]; credits: InvoiceCredit[] }

const sum = (amounts: number[] | undefined): bigint => (amounts ?? []).reduce((all, amount) => all + BigInt(amount), 0n)

/** The charge for the whole quantity: after the discounts, with the tax that is added. */
export const linePrice = ({ amount, discount_amounts, taxes }: Stripe.InvoiceLineItem): bigint =>
  BigInt(amount) -
  sum(discount_amounts?.map(discount => discount.amount)) +
  sum(taxes?.filter(({ tax_behavior }) => tax_behavior === 'exclusive').map(tax => tax.amount))

const priceIdOf = ({ pricing }: Stripe.InvoiceLineItem): string | undefined => {
  const price = pricing?.price_details?.price
  return typeof price === 'string' ? price : price?.id
}

/**
 * Whether every discount of the line is by a coupon for one invoice. A line has only the ids of its discounts; the invoice has the
 * discounts themselves.
 */
function isDiscountedOnce({ discount_amounts }: Stripe.InvoiceLineItem, { discounts }: Stripe.Invoice): boolean {
  const once = new Set(
    (discounts ?? []).flatMap(discount => {
      if (typeof discount === 'string' || discount.deleted) return []
      const { coupon } = discount.source
      return coupon && typeof coupon !== 'string' && coupon.duration === 'once' ? [discount.id] : []
    }),
  )
  return (discount_amounts ?? []).every(
    ({ amount, discount }) => amount === 0 || once.has(typeof discount === 'string' ? discount : discount.id),
  )
}

type ItemLine = { item: string; product: string; isProration: boolean }

/** The items by the products of their lines so far: an item may have another product now. */
function itemsByProduct({ invoices }: KnownSubscription): Map<string, string> {
  const found = new Map<string, string>()
  for (const { parent, pricing } of invoices.flatMap(({ lines }) => lines)) {
    const [item, product] = [parent?.subscription_item_details?.subscription_item, pricing?.price_details?.product]
    if (item !== undefined && product !== undefined) found.set(product, item)
  }
  return found
}

/** The item of a line; null: none, for example for a charge that the app has added to the invoice. */
function itemOf(
  { items, subscription }: KnownSubscription,
  { parent, pricing }: Stripe.InvoiceLineItem,
  named: ReadonlyMap<string, string>,
): ItemLine | null {
  const product = pricing?.price_details?.product
  const details = parent?.subscription_item_details
  if (details) {
    const { subscription_item: item, proration: isProration } = details
    const current = items.find(({ id }) => id === item)?.price.product
    const named = product ?? (typeof current === 'string' ? current : current?.id)
    return named === undefined ? null : { item, product: named, isProration }
  }
  // A change may be charged as an item of the invoice, which names the product only.
  const added = parent?.invoice_item_details
  if (!added?.proration || added.subscription !== subscription.id || product === undefined) return null
  const item = items.find(({ price }) => price.product === product)?.id ?? named.get(product)
  return item === undefined ? null : { item, product, isProration: true }
}

/** Lines of one item and time are one period: a price with tiers has one line for each tier. */
function ofInvoice(known: KnownSubscription, of: KnownInvoice, named: ReadonlyMap<string, string>): Charged {
  const groups = new Map<string, ChargedPeriod>()
  const credits: InvoiceCredit[] = []
  for (const line of of.lines) {
    const found = itemOf(known, line, named)
    if (!found) continue
    const { start: begins, end: ends } = line.period
    const price = linePrice(line)
    const undiscounted = BigInt(line.amount)
    if (found.isProration && price <= 0n) {
      credits.push({ item: found.item, at: begins, units: -price, invoice: of.invoice.id })
      continue
    }
    const key = [found.item, begins, ends, found.isProration].join()
    const group = groups.get(key)
    if (group) {
      group.price += price
      group.undiscounted += undiscounted
      group.isDiscountedOnce &&= isDiscountedOnce(line, of.invoice)
    } else {
      const planPrice = priceIdOf(line)
      const reported = {
        price,
        undiscounted,
        planPrice,
        quantity: line.quantity ?? 1,
        isDiscountedOnce: isDiscountedOnce(line, of.invoice),
      }
      groups.set(key, { ...found, ...reported, key, begins, ends, isRegular: false, of })
    }
  }
  const periods = [...groups.values()].filter(({ price, begins, ends }) => price >= 0n && ends > begins)
  for (const item of new Set(periods.map(period => period.item))) regularOf(periods.filter(period => period.item === item)).isRegular = true
  return { periods, credits }
}

const regularOf = (periods: ChargedPeriod[]): ChargedPeriod =>
  periods.reduce((best, one) => {
    if (best.isProration !== one.isProration) return best.isProration ? one : best
    return one.begins > best.begins ? one : best
  })

/** The charges and credits of the paid invoices, in the order of the invoices. */
export function chargedPeriods(known: KnownSubscription): Charged {
  const named = itemsByProduct(known)
  const all = known.invoices.filter(({ invoice }) => invoice.status === 'paid').map(of => ofInvoice(known, of, named))
  return { periods: all.flatMap(({ periods }) => periods), credits: all.flatMap(({ credits }) => credits) }
}
