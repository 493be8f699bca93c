import type { FetchContext, Swept, SweptNotification } from '../store-client.ts'
import type { PaddleEvent } from './answers.ts'
import { isPaddleEvent, PADDLE_EVENT_TYPES, signedPaddleEvent } from './event.ts'
import { fetchPaddlePage, type PaddleDeps } from './paddle-api.ts'

const A_PAGE = '200'
/** The most pages: a million events. The checks of the lineages find older changes. */
const MOST_PAGES = 5_000

function sweptEvent(event: PaddleEvent, environment: FetchContext['environment']): SweptNotification[] {
  const notification = signedPaddleEvent(event, environment)
  return notification ? [{ notification, body: Buffer.from(JSON.stringify(event)) }] : []
}

/**
 * For sweeps: the events of the types that are read, since a time in ms, newest first, a page at a time, in the form of pushes. Paddle
 * keeps events for 90 days and has no filter by time; the ids are in the order of time. Ends after the first page without an answer.
 */
export async function* paddleEvents(deps: PaddleDeps, sinceMs: number, context: FetchContext): AsyncGenerator<Swept> {
  const query = { order_by: 'id[DESC]', per_page: A_PAGE, event_type: PADDLE_EVENT_TYPES.join(',') }
  let after: Record<string, string> = {}
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer = await fetchPaddlePage<PaddleEvent>(deps, '/events', { ...query, ...after }, context, isPaddleEvent)
    if (answer.is !== 'answer') return yield answer
    const { entities, hasMore } = answer.value
    const recent = entities.filter(({ occurred_at }) => Date.parse(occurred_at) >= sinceMs)
    const notifications = recent.flatMap(event => sweptEvent(event, context.environment))
    if (notifications.length > 0) yield { is: 'swept', notifications }
    // Events of one moment may be listed in another order: only a page without any recent one is the end.
    if (!hasMore || recent.length === 0) return
    after = { after: entities.at(-1)!.event_id }
  }
}
