import type { FetchContext } from '../store-client.ts'
import type { PaddleSubscription } from './answers.ts'
import { fetchPaddlePage, type PaddleDeps } from './paddle-api.ts'

const A_PAGE = '200'

/** `queues`: the queues to refresh. `next`: the cursor of the next page; null: there is none. */
type SubscriptionQueues = { queues: string[]; next: string | null }

/** `changedSinceMs`: only subscriptions that have changed since; null: all. `after`: the cursor at which an earlier run stopped. */
export type PaddleSubscriptionRange = { changedSinceMs: number | null; after: string | null }
export type PaddleSubscriptionPage =
  | ({ is: 'queues' } & SubscriptionQueues)
  | Exclude<Awaited<ReturnType<typeof fetchPaddlePage>>, { is: 'answer' }>

/** For backfill: all subscriptions of the account, a page at a time. Ends after the first page without an answer. */
export async function* paddleSubscriptions(
  deps: PaddleDeps,
  { changedSinceMs, after }: PaddleSubscriptionRange,
  context: FetchContext,
): AsyncGenerator<PaddleSubscriptionPage> {
  for (let next = after; ; ) {
    const query = { order_by: 'id[ASC]', per_page: A_PAGE, ...(next !== null && { after: next }) }
    const answer = await fetchPaddlePage<PaddleSubscription>(deps, '/subscriptions', query, context)
    if (answer.is !== 'answer') return yield answer
    const { entities, hasMore } = answer.value
    const queues = entities
      .filter(({ updated_at }) => changedSinceMs === null || !(Date.parse(updated_at ?? '') < changedSinceMs))
      .map(({ id }) => id)
    const before: string | null = next
    next = hasMore ? entities.at(-1)!.id : null
    // A list whose cursor does not advance would never end.
    if (next !== null && next === before) return yield { is: 'later', why: 'answer_unreadable', afterMs: null }
    yield { is: 'queues', queues, next }
    if (next === null) return
  }
}
