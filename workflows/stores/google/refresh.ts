import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { FetchContext, StoreAnswer } from '../store-client.ts'
import { FORBIDDEN, type PlayDeps } from './developer-api.ts'
import { fetchOrders, orderChain } from './fetch-orders.ts'
import { orderQueue } from './notification.ts'
import { fetchOneTime, oneTimeReports } from './one-time.ts'
import { stateOf } from './state-statements.ts'
import { type Chain, fetchChain, ownedLines } from './subscription-chain.ts'
import { subscriptionReports } from './subscription-reports.ts'

const ONE_TIME_STATES = ['PURCHASED', 'CANCELLED', 'PENDING']

const environmentOf = (test: object | undefined): EnvironmentKind => (test === undefined ? 'production' : 'sandbox')

/**
 * Everything that Google knows of the lineage of a token. A token does not show what it belongs to: it is fetched as a subscription first,
 * then as a one-time purchase.
 */
export async function fetchPurchase(deps: PlayDeps, token: string, context: FetchContext): Promise<StoreAnswer> {
  const chain = await fetchChain(deps, token, context)
  if (chain.is === 'chain') return fetchedSubscription(deps, chain, context)
  return chain.is === 'unknown' ? fetchedOneTime(deps, token, context) : chain
}

async function fetchedSubscription(deps: PlayDeps, chain: Chain & { is: 'chain' }, context: FetchContext): Promise<StoreAnswer> {
  const { links, names } = chain
  const { subscriptionState, testPurchase } = links[0]!.answer
  if (subscriptionState !== undefined && stateOf(subscriptionState) === null) deps.unknownWord?.('subscriptionState', subscriptionState)
  // The newest last: if there are too many, the oldest are not fetched.
  const lines = links.toReversed().flatMap(({ answer }) => ownedLines(answer))
  const ids = [...lines.flatMap(line => orderChain(line.latestSuccessfulOrderId)), ...(context.transactions ?? [])]
  const found = await fetchOrders(deps, ids, context)
  if (found.is !== 'orders' && found.is !== 'forbidden') return found
  const orders = found.is === 'orders' ? found.orders : null
  const ordersAt = found.is === 'orders' ? found.statedAt : null
  const reports = subscriptionReports({ links, names, orders, ordersAt })
  return { is: 'reports', environment: environmentOf(testPurchase), reports }
}

async function fetchedOneTime(deps: PlayDeps, token: string, context: FetchContext): Promise<StoreAnswer> {
  const answer = await fetchOneTime(deps, token, context)
  if (answer.is === 'forbidden') return FORBIDDEN
  if (answer.is !== 'answer') return answer
  const { orderId, testPurchaseContext, purchaseStateContext } = answer.body
  const word = purchaseStateContext?.purchaseState
  if (word !== undefined && !ONE_TIME_STATES.includes(word)) deps.unknownWord?.('purchaseState', word)
  const found = await fetchOrders(deps, orderId === undefined ? [] : [orderId], context)
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

const ORDER_QUEUE = /^order:(.+)$/

/** Fetches the lineages of a queue: a token, an order whose token is not known, or an add-on of a token. */
export async function refreshPlayQueue(deps: PlayDeps, queue: string, context: FetchContext): Promise<StoreAnswer> {
  const order = ORDER_QUEUE.exec(queue)?.[1]
  if (order === undefined) return fetchPurchase(deps, queue.split(':')[0]!, context)
  const found = await fetchOrders(deps, [order], context)
  if (found.is !== 'orders') return found.is === 'forbidden' ? FORBIDDEN : found
  const token = found.orders.find(({ orderId }) => orderId === order)?.purchaseToken
  if (token === undefined) return { is: 'unknown' }
  const answer = await fetchPurchase(deps, token, context)
  if (answer.is !== 'reports') return answer
  // Before the token was known, notifications were recorded under the order.
  const [first, ...others] = answer.reports
  return { ...answer, reports: first ? [{ ...first, aliases: [...first.aliases, orderQueue(order)] }, ...others] : [] }
}
