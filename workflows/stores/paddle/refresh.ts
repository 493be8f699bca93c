import type { FetchContext, StoreAnswer } from '../store-client.ts'
import type { PaddleAdjustment, PaddleSubscription, PaddleTransaction } from './answers.ts'
import { oneTimeReportsOf } from './one-time.ts'
import { fetchPaddleEntity, fetchPaddleList, isPaddleId, type PaddleDeps, type PaddleList } from './paddle-api.ts'
import { paddleReports } from './subscription-reports.ts'

/** The largest page of each list at Paddle. */
const TRANSACTIONS_A_PAGE = '30'
const ADJUSTMENTS_A_PAGE = '50'

/**
 * The entities that a transaction may include. If the key lacks the permission for one, the country is unknown (address), or it is unknown
 * that a discount is for one period.
 */
const INCLUDES = ['address,discount', 'address']

const isForbidden = (answer: { is: string; why?: unknown }): boolean => answer.is === 'refused' && answer.why === 'http_403'

/** The answer with the included entities that the key may read. */
async function fetchIncluding<Answer extends { is: string }>(fetch: (include: Record<string, string>) => Promise<Answer>): Promise<Answer> {
  for (const include of INCLUDES) {
    const answer = await fetch({ include })
    if (!isForbidden(answer)) return answer
  }
  return fetch({})
}

const fetchTransactions = (deps: PaddleDeps, subscription_id: string, context: FetchContext): Promise<PaddleList<PaddleTransaction>> =>
  fetchIncluding(include =>
    fetchPaddleList<PaddleTransaction>(deps, '/transactions', { subscription_id, per_page: TRANSACTIONS_A_PAGE, ...include }, context),
  )

const fetchAdjustments = (deps: PaddleDeps, of: Record<string, string>, context: FetchContext): Promise<PaddleList<PaddleAdjustment>> =>
  fetchPaddleList(deps, '/adjustments', { ...of, per_page: ADJUSTMENTS_A_PAGE }, context)

/** Everything that Paddle knows of a subscription. */
export async function fetchPaddleSubscription(deps: PaddleDeps, id: string, context: FetchContext): Promise<StoreAnswer> {
  const subscription = await fetchPaddleEntity<PaddleSubscription>(deps, `/subscriptions/${id}`, context)
  if (subscription.is !== 'answer') return subscription
  const transactions = await fetchTransactions(deps, id, context)
  if (transactions.is !== 'list') return transactions
  const adjustments = await fetchAdjustments(deps, { subscription_id: id }, context)
  if (adjustments.is !== 'list') return adjustments
  const reports = paddleReports({
    subscription: subscription.value,
    transactions: transactions.entities,
    adjustments: adjustments.entities,
    statedAt: Math.min(subscription.statedAt, transactions.statedAt, adjustments.statedAt),
    isWhole: transactions.isWhole && adjustments.isWhole,
  })
  return { is: 'reports', environment: context.environment, reports }
}

const fetchOneTransaction = (deps: PaddleDeps, id: string, context: FetchContext) =>
  fetchIncluding(include => {
    const query = new URLSearchParams(include)
    return fetchPaddleEntity<PaddleTransaction>(deps, `/transactions/${id}${query.size > 0 ? `?${query}` : ''}`, context)
  })

/**
 * The one-time charges of a transaction. The events of a subscription's first transaction may not name the subscription yet: such a
 * transaction is fetched with its subscription.
 */
export async function fetchPaddleTransaction(deps: PaddleDeps, id: string, context: FetchContext): Promise<StoreAnswer> {
  const answer = await fetchOneTransaction(deps, id, context)
  if (answer.is !== 'answer') return answer
  const { value: transaction } = answer
  if (transaction.subscription_id != null) {
    if (!isPaddleId(transaction.subscription_id, 'sub')) return { is: 'later', why: 'answer_unreadable', afterMs: null }
    return fetchPaddleSubscription(deps, transaction.subscription_id, context)
  }
  const adjustments = await fetchAdjustments(deps, { transaction_id: id }, context)
  if (adjustments.is !== 'list') return adjustments
  const statedAt = Math.min(answer.statedAt, adjustments.statedAt)
  const { entities, isWhole } = adjustments
  const reports = oneTimeReportsOf({ transaction, adjustments: entities, statedAt, isWhole })
  return { is: 'reports', environment: context.environment, reports }
}

/** Fetches the lineages of a queue: a subscription, a product that was added to one, or a transaction. */
export async function refreshPaddleQueue(deps: PaddleDeps, queue: string, context: FetchContext): Promise<StoreAnswer> {
  const id = queue.split(':')[0]!
  if (isPaddleId(id, 'sub')) return fetchPaddleSubscription(deps, id, context)
  return isPaddleId(id, 'txn') ? fetchPaddleTransaction(deps, id, context) : { is: 'unknown' }
}
