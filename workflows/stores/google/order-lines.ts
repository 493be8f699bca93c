import type { Order, OrderLine, SubscriptionLine } from './answers.ts'
import type { ChainLink } from './subscription-chain.ts'
import { ownedLines } from './subscription-chain.ts'

/** One line of an order. `isMain`: it belongs to the lineage of the token; the others are add-ons with lineages of their own. */
export type ChargedLine = { order: Order & { orderId: string }; line: OrderLine & { productId: string }; isMain: boolean; token: string }

const COUNTED_NOT = ['PENDING', 'CANCELED']

/** Orders in the order of their creation, without those that were never paid. */
function ordersOf(orders: Order[], tokens: string[], ownToken: string) {
  const isPaid = ({ orderId, state = '', purchaseToken = ownToken }: Order) =>
    orderId !== undefined && !COUNTED_NOT.includes(state) && tokens.includes(purchaseToken)
  const by = ({ createTime, orderId }: Order) => `${new Date(Date.parse(createTime ?? '') || 0).toISOString()} ${orderId}`
  return (orders.filter(isPaid) as ChargedLine['order'][]).sort((a, b) => (by(a) < by(b) ? -1 : 1))
}

/**
 * Determines which product is the subscription itself and which ones are its add-ons. The first line of the first order is the
 * subscription; another product replaces it when the old one is neither charged nor owned any more. Orders do not change, so every refresh
 * has the same result.
 */
export function chargedLines(orders: Order[], chain: ChainLink[]): { lines: ChargedLine[]; main: string | null } {
  const ownToken = chain[0]!.token
  const lines: ChargedLine[] = []
  const addOns = new Set<string>()
  let main: string | null = null
  for (const order of ordersOf(
    orders,
    chain.map(({ token }) => token),
    ownToken,
  )) {
    const token = order.purchaseToken ?? ownToken
    const charged = (order.lineItems ?? []).filter((line): line is ChargedLine['line'] => line.productId !== undefined)
    const owned = ownedLines(chain.find(link => link.token === token)!.answer).map(({ productId }) => productId)
    if (main === null || !(charged.some(({ productId }) => productId === main) || owned.includes(main)))
      main = charged.find(({ productId }) => !addOns.has(productId))?.productId ?? main
    for (const line of charged) {
      const isMain = line.productId === main
      if (!isMain) addOns.add(line.productId)
      lines.push({ order, line, isMain, token })
    }
  }
  return { lines, main }
}

/** The transaction of a line: an order has one of its own for every add-on. */
export const subjectOf = (order: string, product: string, isMain: boolean): string => (isMain ? order : `${order}:${product}`)

/** The line of an order that a line of the subscription names as its latest one. */
export const latestOf = (lines: ChargedLine[], { latestSuccessfulOrderId, productId }: SubscriptionLine): ChargedLine | undefined =>
  lines.find(({ order, line }) => order.orderId === latestSuccessfulOrderId && line.productId === productId)
