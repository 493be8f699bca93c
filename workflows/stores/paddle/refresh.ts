import type { Asking, StoreAnswer } from '../store-client.ts'
import type { PaddleAdjustment, PaddleSubscription, PaddleTransaction } from './answers.ts'
import { oneTimeReportsOf } from './one-time.ts'
import { askPaddleEntity, askPaddleList, isPaddleId, type PaddleDeps, type PaddleList } from './paddle-api.ts'
import { paddleReports } from './subscription-reports.ts'

/** The most that Paddle puts on a page of each list. */
const TRANSACTIONS_A_PAGE = '30'
const ADJUSTMENTS_A_PAGE = '50'

/**
 * What may stand beside a transaction. A key may lack the permission for it: then there is no country (address), or nothing says that a discount is for
 * one period.
 */
const INCLUDES = ['address,discount', 'address']

const isForbidden = (answer: { is: string; why?: unknown }): boolean => answer.is === 'refused' && answer.why === 'http_403'

/** The answer with as much beside it as the key may read. */
async function askIncluding<Answer extends { is: string }>(asked: (include: Record<string, string>) => Promise<Answer>): Promise<Answer> {
  for (const include of INCLUDES) {
    const answer = await asked({ include })
    if (!isForbidden(answer)) return answer
  }
  return asked({})
}

const askTransactions = (deps: PaddleDeps, subscription_id: string, asking: Asking): Promise<PaddleList<PaddleTransaction>> =>
  askIncluding(include =>
    askPaddleList<PaddleTransaction>(deps, '/transactions', { subscription_id, per_page: TRANSACTIONS_A_PAGE, ...include }, asking),
  )

const askAdjustments = (deps: PaddleDeps, of: Record<string, string>, asking: Asking): Promise<PaddleList<PaddleAdjustment>> =>
  askPaddleList(deps, '/adjustments', { ...of, per_page: ADJUSTMENTS_A_PAGE }, asking)

/** Everything that Paddle knows of a subscription. */
export async function askPaddleSubscription(deps: PaddleDeps, id: string, asking: Asking): Promise<StoreAnswer> {
  const subscription = await askPaddleEntity<PaddleSubscription>(deps, `/subscriptions/${id}`, asking)
  if (subscription.is !== 'answer') return subscription
  const transactions = await askTransactions(deps, id, asking)
  if (transactions.is !== 'list') return transactions
  const adjustments = await askAdjustments(deps, { subscription_id: id }, asking)
  if (adjustments.is !== 'list') return adjustments
  const reports = paddleReports({
    subscription: subscription.value,
    transactions: transactions.entities,
    adjustments: adjustments.entities,
    statedAt: Math.min(subscription.statedAt, transactions.statedAt, adjustments.statedAt),
    isWhole: transactions.isWhole && adjustments.isWhole,
  })
  return { is: 'reports', environment: asking.environment, reports }
}

const askOneTransaction = (deps: PaddleDeps, id: string, asking: Asking) =>
  askIncluding(include => {
    const query = new URLSearchParams(include)
    return askPaddleEntity<PaddleTransaction>(deps, `/transactions/${id}${query.size > 0 ? `?${query}` : ''}`, asking)
  })

/** What a transaction charges once. The events of a subscription's first transaction may not name it yet: such a transaction asks for the subscription. */
export async function askPaddleTransaction(deps: PaddleDeps, id: string, asking: Asking): Promise<StoreAnswer> {
  const answer = await askOneTransaction(deps, id, asking)
  if (answer.is !== 'answer') return answer
  const { value: transaction } = answer
  if (transaction.subscription_id != null) {
    if (!isPaddleId(transaction.subscription_id, 'sub')) return { is: 'later', why: 'answer_unreadable', afterMs: null }
    return askPaddleSubscription(deps, transaction.subscription_id, asking)
  }
  const adjustments = await askAdjustments(deps, { transaction_id: id }, asking)
  if (adjustments.is !== 'list') return adjustments
  const statedAt = Math.min(answer.statedAt, adjustments.statedAt)
  const { entities, isWhole } = adjustments
  const reports = oneTimeReportsOf({ transaction, adjustments: entities, statedAt, isWhole })
  return { is: 'reports', environment: asking.environment, reports }
}

/** Asks for the lineages of a lane: a subscription, what was added to it, or a transaction. */
export async function refreshPaddleLane(deps: PaddleDeps, lane: string, asking: Asking): Promise<StoreAnswer> {
  const id = lane.split(':')[0]!
  if (isPaddleId(id, 'sub')) return askPaddleSubscription(deps, id, asking)
  return isPaddleId(id, 'txn') ? askPaddleTransaction(deps, id, asking) : { is: 'unknown' }
}
