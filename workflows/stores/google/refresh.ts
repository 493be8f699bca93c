import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { Asking, StoreAnswer } from '../store-client.ts'
import { askOrders, orderChain } from './ask-orders.ts'
import { FORBIDDEN, type PlayDeps } from './developer-api.ts'
import { orderLane } from './notification.ts'
import { askOneTime, oneTimeReports } from './one-time.ts'
import { stateOf } from './state-statements.ts'
import { askChain, type Chain, ownedLines } from './subscription-chain.ts'
import { subscriptionReports } from './subscription-reports.ts'

const ONE_TIME_STATES = ['PURCHASED', 'CANCELLED', 'PENDING']

const environmentOf = (test: object | undefined): EnvironmentKind => (test === undefined ? 'production' : 'sandbox')

/**
 * Everything that Google knows of the lineage of a token. A token does not tell what it was given for: it is asked for as a subscription first,
 * then as a one-time purchase.
 */
export async function askPurchase(deps: PlayDeps, token: string, asking: Asking): Promise<StoreAnswer> {
  const chain = await askChain(deps, token, asking)
  if (chain.is === 'chain') return askedSubscription(deps, chain, asking)
  return chain.is === 'unknown' ? askedOneTime(deps, token, asking) : chain
}

async function askedSubscription(deps: PlayDeps, chain: Chain & { is: 'chain' }, asking: Asking): Promise<StoreAnswer> {
  const { links, names } = chain
  const { subscriptionState, testPurchase } = links[0]!.answer
  if (subscriptionState !== undefined && stateOf(subscriptionState) === null) deps.unknownWord?.('subscriptionState', subscriptionState)
  // The newest last: of too many, the oldest are not asked for.
  const lines = links.toReversed().flatMap(({ answer }) => ownedLines(answer))
  const ids = [...lines.flatMap(line => orderChain(line.latestSuccessfulOrderId)), ...(asking.transactions ?? [])]
  const found = await askOrders(deps, ids, asking)
  if (found.is !== 'orders' && found.is !== 'forbidden') return found
  const orders = found.is === 'orders' ? found.orders : null
  const ordersAt = found.is === 'orders' ? found.statedAt : null
  const reports = subscriptionReports({ links, names, orders, ordersAt })
  return { is: 'reports', environment: environmentOf(testPurchase), reports }
}

async function askedOneTime(deps: PlayDeps, token: string, asking: Asking): Promise<StoreAnswer> {
  const answer = await askOneTime(deps, token, asking)
  if (answer.is === 'forbidden') return FORBIDDEN
  if (answer.is !== 'answer') return answer
  const { orderId, testPurchaseContext, purchaseStateContext } = answer.body
  const word = purchaseStateContext?.purchaseState
  if (word !== undefined && !ONE_TIME_STATES.includes(word)) deps.unknownWord?.('purchaseState', word)
  const found = await askOrders(deps, orderId === undefined ? [] : [orderId], asking)
  if (found.is !== 'orders' && found.is !== 'forbidden') return found
  const order = found.is === 'orders' && found.orders.find(one => one.orderId === orderId)
  const reports = oneTimeReports({
    token,
    answer: answer.body,
    statedAt: answer.statedAt,
    order: order || (orderId === undefined ? null : undefined),
    isForbidden: found.is === 'forbidden',
  })
  return { is: 'reports', environment: environmentOf(testPurchaseContext), reports }
}

const ORDER_LANE = /^order:(.+)$/

/** Asks for the lineages of a lane: a token, an order whose token is not known, or an add-on of a token. */
export async function refreshLane(deps: PlayDeps, lane: string, asking: Asking): Promise<StoreAnswer> {
  const order = ORDER_LANE.exec(lane)?.[1]
  if (order === undefined) return askPurchase(deps, lane.split(':')[0]!, asking)
  const found = await askOrders(deps, [order], asking)
  if (found.is !== 'orders') return found.is === 'forbidden' ? FORBIDDEN : found
  const token = found.orders.find(({ orderId }) => orderId === order)?.purchaseToken
  if (token === undefined) return { is: 'unknown' }
  const answer = await askPurchase(deps, token, asking)
  if (answer.is !== 'reports') return answer
  // Before the token was known, notifications were recorded under the order.
  const [first, ...others] = answer.reports
  return { ...answer, reports: first ? [{ ...first, aliases: [...first.aliases, orderLane(order)] }, ...others] : [] }
}
