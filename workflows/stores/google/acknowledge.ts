import type { FetchContext } from '../store-client.ts'
import type { OneTimeAnswer, SubscriptionAnswer } from './answers.ts'
import { FORBIDDEN, fetchFromPlay, type NoAnswer, type PlayDeps, type PlayRequest } from './developer-api.ts'
import { fetchOneTime } from './one-time.ts'
import { isBought, stateOf } from './state-statements.ts'

/** done: acknowledged now, or before. notDue: not paid yet. */
export type Acknowledged = { is: 'done' } | { is: 'notDue' } | NoAnswer

const DONE = 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED'

/** The request to post; null: none any more. */
type Due = PlayRequest | null | 'notDue'

function subscriptionDue({ acknowledgementState, lineItems, subscriptionState }: SubscriptionAnswer, token: string): Due {
  if (acknowledgementState === DONE) return null
  const product = lineItems?.[0]?.productId
  if (!isBought(stateOf(subscriptionState)) || product === undefined) return 'notDue'
  return { method: 'POST', path: `purchases/subscriptions/${product}/tokens/${encodeURIComponent(token)}:acknowledge`, body: {} }
}

function oneTimeDue({ acknowledgementState, productLineItem, purchaseStateContext }: OneTimeAnswer, token: string): Due {
  if (acknowledgementState === DONE) return null
  const product = productLineItem?.[0]?.productId
  if (purchaseStateContext?.purchaseState !== 'PURCHASED' || product === undefined) return 'notDue'
  return { method: 'POST', path: `purchases/products/${product}/tokens/${encodeURIComponent(token)}:acknowledge`, body: {} }
}

/**
 * Acknowledges a purchase, which Google refunds after three days otherwise. Nothing is consumed: the app does that. A repeat changes
 * nothing: the state is read first, and shows whether the token is of a subscription or of a product.
 */
export async function acknowledgePlay(deps: PlayDeps, token: string, context: FetchContext): Promise<Acknowledged> {
  const path = `purchases/subscriptionsv2/tokens/${encodeURIComponent(token)}`
  const subscription = await fetchFromPlay<SubscriptionAnswer>(deps, { method: 'GET', path }, context)
  const oneTime = subscription.is === 'unknown' ? await fetchOneTime(deps, token, context) : null
  const fetched = oneTime ?? subscription
  if (fetched.is !== 'answer') return fetched.is === 'forbidden' ? FORBIDDEN : fetched
  const due = oneTime ? oneTimeDue(fetched.body as OneTimeAnswer, token) : subscriptionDue(fetched.body as SubscriptionAnswer, token)
  if (due === null) return { is: 'done' }
  if (due === 'notDue') return { is: 'notDue' }
  const answer = await fetchFromPlay<object>(deps, due, context)
  if (answer.is === 'answer') return { is: 'done' }
  return answer.is === 'forbidden' ? FORBIDDEN : answer
}
