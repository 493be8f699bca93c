import type { Asking, StoreClient, Swept } from '../store-client.ts'
import { allStripeSubscriptions, type FoundLanes } from './all-subscriptions.ts'
import { checkStripeApi } from './check.ts'
import { confirmStripeClaim } from './confirm.ts'
import { readStripeNotification } from './read-notification.ts'
import { recentStripeEvents } from './recent-events.ts'
import { refreshStripeLane } from './refresh.ts'
import type { StripeDeps } from './session.ts'
import { verifyStripeWebhook } from './verify.ts'

export type StripeStore = StoreClient & {
  /** For sweeps: the events since a time in ms, by pages. */
  recentEvents(sinceMs: number, asking: Asking): AsyncGenerator<Swept, void, void>
  /** For backfills: the lanes of all subscriptions, or of those created since a time in ms, by pages. */
  allSubscriptions(sinceMs: number | null, asking: Asking): AsyncGenerator<FoundLanes, void, void>
}

/** Stripe Billing: webhooks of snapshot events, and the API through Stripe's SDK. */
export function stripeStore(deps: StripeDeps): StripeStore {
  return {
    admit: (arrival, settings) => verifyStripeWebhook(arrival, settings, deps.now()),
    read: async notification => readStripeNotification(notification),
    refresh: (lane, asking) => refreshStripeLane(deps, lane, asking),
    confirm: (claim, asking) => confirmStripeClaim(deps, claim, asking),
    check: asking => checkStripeApi(deps, asking),
    recentEvents: (sinceMs, asking) => recentStripeEvents(deps, sinceMs, asking),
    allSubscriptions: (sinceMs, asking) => allStripeSubscriptions(deps, sinceMs, asking),
  }
}
