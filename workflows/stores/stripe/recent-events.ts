import type Stripe from 'stripe'
import type { FetchContext, Swept, SweptNotification } from '../store-client.ts'
import { decodeStripeEvent, STRIPE_EVENT_TYPES, signedStripeEvent } from './events.ts'
import { expectObject, fetchFromStripe, type StripeDeps } from './session.ts'

/** Stripe keeps events for 30 days. */
const REACH_MS = 30 * 24 * 3_600_000
/** Stripe takes this many types in one request. */
const TYPES_PER_REQUEST = 20
const PAGE = 100

type Filter = { types: string[]; created: { gte: number } }

/** An event of a list is the body of its push. */
function swept(event: Stripe.Event): SweptNotification[] {
  const body = Buffer.from(JSON.stringify(event))
  const decoded = decodeStripeEvent(body)
  const notification = typeof decoded === 'string' || decoded.isConnect ? null : signedStripeEvent(decoded)
  return notification ? [{ notification, body }] : []
}

async function* eventsOf(deps: StripeDeps, filter: Filter, context: FetchContext): AsyncGenerator<Swept, void, void> {
  let after: string | null = null
  for (;;) {
    const page: Filter & { limit: number; starting_after?: string } = {
      ...filter,
      limit: PAGE,
      ...(after !== null && { starting_after: after }),
    }
    const answer = await fetchFromStripe(deps, context, async ({ stripe }) => expectObject(await stripe.events.list(page), 'list'))
    if (answer.is !== 'answer') return yield answer
    const { data, has_more } = answer.value
    yield { is: 'swept', notifications: data.flatMap(swept) }
    after = data.at(-1)?.id ?? null
    if (!has_more || after === null) return
  }
}

/**
 * The events of the types that are read, since a time in ms, at most 30 days ago, a page for each request, in the form of pushes. Ends
 * after the first page that Stripe does not answer.
 */
export async function* recentStripeEvents(deps: StripeDeps, sinceMs: number, context: FetchContext): AsyncGenerator<Swept, void, void> {
  const gte = Math.floor(Math.max(sinceMs, deps.now() - REACH_MS) / 1000)
  for (let at = 0; at < STRIPE_EVENT_TYPES.length; at += TYPES_PER_REQUEST) {
    const types = STRIPE_EVENT_TYPES.slice(at, at + TYPES_PER_REQUEST)
    for await (const page of eventsOf(deps, { types, created: { gte } }, context)) {
      yield page
      if (page.is !== 'swept') return
    }
  }
}
