import type { FetchContext, NoAnswer } from '../store-client.ts'
import { wasEverPaid } from './fetch-subscription.ts'
import { expectObject, fetchFromStripe, type StripeDeps } from './session.ts'

const PAGE = 100

/** `queues`: the queues to refresh. */
export type FoundQueues = { is: 'found'; queues: string[] } | NoAnswer

/**
 * All subscriptions that were ever paid, including ended ones, or those that were created since a time in ms, a page for each request. Ends
 * after the first page that Stripe does not answer.
 */
export async function* allStripeSubscriptions(
  deps: StripeDeps,
  sinceMs: number | null,
  context: FetchContext,
): AsyncGenerator<FoundQueues, void, void> {
  const filter = { status: 'all', limit: PAGE, ...(sinceMs !== null && { created: { gte: Math.floor(sinceMs / 1000) } }) } as const
  let after: string | null = null
  for (;;) {
    const page: typeof filter & { starting_after?: string } = { ...filter, ...(after !== null && { starting_after: after }) }
    const answer = await fetchFromStripe(deps, context, async ({ stripe }) => expectObject(await stripe.subscriptions.list(page), 'list'))
    if (answer.is !== 'answer') return yield answer
    const { data, has_more } = answer.value
    yield { is: 'found', queues: data.filter(wasEverPaid).map(({ id }) => id) }
    after = data.at(-1)?.id ?? null
    if (!has_more || after === null) return
  }
}
