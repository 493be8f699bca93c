import type { FetchContext, StoreClient, Swept } from '../store-client.ts'
import { allStripeSubscriptions, type FoundQueues } from './all-subscriptions.ts'
import { checkStripeApi } from './check.ts'
import { confirmStripeClaim } from './confirm.ts'
import { readStripeNotification } from './read-notification.ts'
import { recentStripeEvents } from './recent-events.ts'
import { refreshStripeQueue } from './refresh.ts'
import type { StripeDeps } from './session.ts'
import { verifyStripeWebhook } from './verify.ts'

export type StripeStore = StoreClient & {
  /** For sweeps: the events since a time in ms, by pages. */
  recentEvents(sinceMs: number, context: FetchContext): AsyncGenerator<Swept, void, void>
  /** For backfills: the queues of all subscriptions, or of those created since a time in ms, by pages. */
  allSubscriptions(sinceMs: number | null, context: FetchContext): AsyncGenerator<FoundQueues, void, void>
}

/** Stripe Billing: webhooks of snapshot events, and the API through Stripe's SDK. */
export function stripeStore(deps: StripeDeps): StripeStore {
  return {
    verify: (arrival, settings) => verifyStripeWebhook(arrival, settings, deps.now()),
    read: async notification => readStripeNotification(notification),
    refresh: (queue, context) => refreshStripeQueue(deps, queue, context),
    confirm: (claim, context) => confirmStripeClaim(deps, claim, context),
    check: context => checkStripeApi(deps, context),
    recentEvents: (sinceMs, context) => recentStripeEvents(deps, sinceMs, context),
    allSubscriptions: (sinceMs, context) => allStripeSubscriptions(deps, sinceMs, context),
  }
}
