import type { Asking, NoAnswer, StoreClient, Swept } from '../store-client.ts'
import { type PaddleSubscriptionPage, type PaddleSubscriptionRange, paddleSubscriptions } from './all-subscriptions.ts'
import { checkPaddleApi } from './check.ts'
import { confirmPaddleClaim } from './confirm.ts'
import { paddleEvents } from './event-stream.ts'
import { checkPaddleKey, type PaddleDeps } from './paddle-api.ts'
import { readPaddleEvent } from './read-event.ts'
import { refreshPaddleLane } from './refresh.ts'
import { verifyPaddleEvent } from './verify.ts'

export type PaddleBilling = StoreClient & {
  /** Whether the account of the environment accepts the project's key. */
  checkKey(asking: Asking): Promise<{ is: 'accepted' } | NoAnswer>
  /** For sweeps: the events since a time in ms, a page at a time. */
  events(sinceMs: number, asking: Asking): AsyncGenerator<Swept>
  /** For backfill: the lanes of all subscriptions, a page at a time. */
  subscriptions(range: PaddleSubscriptionRange, asking: Asking): AsyncGenerator<PaddleSubscriptionPage>
}

/** Paddle Billing: webhooks and the API, of the live and of the sandbox account. */
export function paddleBilling(deps: PaddleDeps): PaddleBilling {
  return {
    admit: verifyPaddleEvent,
    read: async notification => readPaddleEvent(notification),
    refresh: (lane, asking) => refreshPaddleLane(deps, lane, asking),
    confirm: (claim, asking) => confirmPaddleClaim(deps, claim, asking),
    check: asking => checkPaddleApi(deps, asking),
    checkKey: asking => checkPaddleKey(deps, asking),
    events: (sinceMs, asking) => paddleEvents(deps, sinceMs, asking),
    subscriptions: (range, asking) => paddleSubscriptions(deps, range, asking),
  }
}
