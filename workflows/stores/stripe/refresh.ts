import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import type { FetchContext, StoreAnswer } from '../store-client.ts'
import { fetchStripeSubscription, type KnownSubscription } from './fetch-subscription.ts'
import { findSubscription, queueTargetOf } from './find-subscription.ts'
import { stripeReports } from './reports.ts'
import { fetchFromStripe, type StripeDeps } from './session.ts'

export const environmentOfSubscription = ({ subscription }: KnownSubscription): EnvironmentKind =>
  subscription.livemode ? 'production' : 'sandbox'

/** Fetches the lineages of a queue: a subscription, or the invoice or payment of one. An object without a subscription has no lineages. */
export async function refreshStripeQueue(deps: StripeDeps, queue: string, context: FetchContext): Promise<StoreAnswer> {
  const target = queueTargetOf(queue)
  if (!target) return { is: 'unknown' }
  const answer = await fetchFromStripe(deps, context, async session => {
    const subscription = await findSubscription(session, target)
    return subscription === null ? null : fetchStripeSubscription(session, subscription)
  })
  if (answer.is !== 'answer') return answer
  if (answer.value === null) return { is: 'reports', environment: context.environment, reports: [] }
  const environment = environmentOfSubscription(answer.value)
  const [first, ...others] = stripeReports(answer.value).reports
  if (!first) return { is: 'reports', environment, reports: [] }
  // Notifications were recorded under the name of the queue: by this alias the erasure of the lineage finds them.
  const aliases = target.object === 'subscription' ? [] : [queue]
  return { is: 'reports', environment, reports: [{ ...first, aliases }, ...others] }
}
