import type { Asking, NoAnswer } from '../store-client.ts'
import { wasEverPaid } from './ask-subscription.ts'
import { askStripe, expectObject, type StripeDeps } from './session.ts'

const PAGE = 100

/** `lanes`: to be refreshed each. */
export type FoundLanes = { is: 'found'; lanes: string[] } | NoAnswer

/**
 * All subscriptions that were ever paid, ended ones too, of those that were created since a time in ms, page by page and each a request. It ends
 * after the first page that Stripe does not answer.
 */
export async function* allStripeSubscriptions(
  deps: StripeDeps,
  sinceMs: number | null,
  asking: Asking,
): AsyncGenerator<FoundLanes, void, void> {
  const filter = { status: 'all', limit: PAGE, ...(sinceMs !== null && { created: { gte: Math.floor(sinceMs / 1000) } }) } as const
  let after: string | null = null
  for (;;) {
    const page: typeof filter & { starting_after?: string } = { ...filter, ...(after !== null && { starting_after: after }) }
    const answer = await askStripe(deps, asking, async ({ stripe }) => expectObject(await stripe.subscriptions.list(page), 'list'))
    if (answer.is !== 'answer') return yield answer
    const { data, has_more } = answer.value
    yield { is: 'found', lanes: data.filter(wasEverPaid).map(({ id }) => id) }
    after = data.at(-1)?.id ?? null
    if (!has_more || after === null) return
  }
}
