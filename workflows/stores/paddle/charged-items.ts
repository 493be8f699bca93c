import { isPaidTransaction, type PaddleAdjustment, type PaddleLine, type PaddlePrice, type PaddleTransaction } from './answers.ts'

/**
 * The charge of a transaction for one product. `subject`: the transaction; for further products of the transaction, the transaction with
 * the product.
 */
export type ChargedItem = {
  transaction: PaddleTransaction
  product: string
  isRecurring: boolean
  lines: PaddleLine[]
  subject: string
}

/** A transaction with which a customer changes the payment method: it charges nothing. */
const CHARGES_NOTHING = 'subscription_payment_method_change'
/** A transaction within a period, for added or changed products: it does not list the unchanged ones. */
const CHANGE = 'subscription_update'

export const isPlanChange = ({ origin }: PaddleTransaction): boolean => origin === CHANGE

/** The products of a transaction. A product may have several lines: of several prices, or prorated. */
export function chargedItems(transaction: PaddleTransaction): ChargedItem[] {
  const { id, items = [], details, origin, billing_period } = transaction
  if (origin === CHARGES_NOTHING) return []
  const prices = new Map(items.flatMap(({ price }) => (price?.id === undefined ? [] : [[price.id, price] as [string, PaddlePrice]])))
  const found = new Map<string, ChargedItem>()
  for (const line of details?.line_items ?? []) {
    const price = prices.get(line.price_id ?? '')
    const product = price?.product_id ?? line.product?.id
    if (product === undefined) continue
    const isRecurring = price ? price.billing_cycle != null : billing_period != null
    const known = found.get(product)
    if (known) {
      known.lines.push(line)
      known.isRecurring ||= isRecurring
    } else {
      const subject = found.size === 0 ? id : `${id}:${product}`
      found.set(product, { transaction, product, isRecurring, lines: [line], subject })
    }
  }
  return [...found.values()]
}

/** A recurring product in a paid transaction. `isMain`: it belongs to the lineage of the subscription; the others have lineages of their own. */
export type ChargedPlan = ChargedItem & { isMain: boolean }

/** The first stated time, in ms; 0: none. */
const timeOf = (...times: (string | null | undefined)[]): number => Date.parse(times.find(time => time != null) ?? '') || 0
export const paddleBilledAt = ({ billed_at, created_at }: PaddleTransaction): number => timeOf(billed_at, created_at)
/** A change is billed within a period, whenever the period began. */
const chargedFrom = (one: PaddleTransaction): number =>
  isPlanChange(one) ? paddleBilledAt(one) : timeOf(one.billing_period?.starts_at, one.billed_at, one.created_at)
export const inChargeOrder = (a: PaddleTransaction, b: PaddleTransaction): number =>
  chargedFrom(a) - chargedFrom(b) || (a.id < b.id ? -1 : 1)

/** The unused time of a product is credited when another product replaces it. */
const CREDIT_MS = 3_600_000

function isCredited(adjustments: PaddleAdjustment[], items: ChargedItem[], at: number): boolean {
  const lines = new Set(items.flatMap(item => item.lines.map(({ id }) => id)))
  return adjustments.some(
    ({ action, created_at, items: credited = [] }) =>
      action === 'credit' && Math.abs(Date.parse(created_at ?? '') - at) <= CREDIT_MS && credited.some(({ item_id }) => lines.has(item_id)),
  )
}

/**
 * Determines which product is the subscription itself and which ones are added to it. The first product of the first transaction is the
 * subscription; another product replaces it when the old one is not charged any more. Transactions do not change, so every refresh has the
 * same result. `owned`: the present products of the subscription, for a change that has not been charged yet.
 */
export function chargedPlans(transactions: PaddleTransaction[], adjustments: PaddleAdjustment[], owned: string[]): ChargedPlan[] {
  const paid = transactions
    .filter(isPaidTransaction)
    .sort(inChargeOrder)
    .map(transaction => ({ transaction, items: chargedItems(transaction).filter(({ isRecurring }) => isRecurring) }))
    .filter(({ items }) => items.length > 0)
  const added = new Set<string>()
  const plans: ChargedPlan[] = []
  let main: string | null = null

  /** Whether the product stays in the subscription beside the products that a change charges. */
  function stays(product: string, index: number): boolean {
    const { transaction } = paid[index]!
    const before = paid.slice(0, index).flatMap(({ items }) => items.filter(item => item.product === product))
    if (isCredited(adjustments, before, paddleBilledAt(transaction))) return false
    const next = paid.slice(index + 1).find(one => !isPlanChange(one.transaction))
    return next ? next.items.some(item => item.product === product) : owned.includes(product)
  }

  for (const [index, { transaction, items }] of paid.entries()) {
    const isCharged = items.some(({ product }) => product === main)
    if (main === null || !(isCharged || (isPlanChange(transaction) && stays(main, index))))
      main = items.find(({ product }) => !added.has(product))?.product ?? main
    for (const item of items) {
      const isMain = item.product === main
      if (!isMain) added.add(item.product)
      plans.push({ ...item, isMain })
    }
  }
  return plans
}
