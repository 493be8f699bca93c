import type { FetchContext, NoAnswer, StoreClient, Swept } from '../store-client.ts'
import { type PaddleSubscriptionPage, type PaddleSubscriptionRange, paddleSubscriptions } from './all-subscriptions.ts'
import { checkPaddleApi } from './check.ts'
import { confirmPaddleClaim } from './confirm.ts'
import { paddleEvents } from './event-stream.ts'
import { checkPaddleKey, type PaddleDeps } from './paddle-api.ts'
import { readPaddleEvent } from './read-event.ts'
import { refreshPaddleQueue } from './refresh.ts'
import { verifyPaddleEvent } from './verify.ts'

export type PaddleBilling = StoreClient & {
  /** Whether the account of the environment accepts the project's key. */
  checkKey(context: FetchContext): Promise<{ is: 'accepted' } | NoAnswer>
  /** For sweeps: the events since a time in ms, a page at a time. */
  events(sinceMs: number, context: FetchContext): AsyncGenerator<Swept>
  /** For backfill: the queues of all subscriptions, a page at a time. */
  subscriptions(range: PaddleSubscriptionRange, context: FetchContext): AsyncGenerator<PaddleSubscriptionPage>
}

/** Paddle Billing: webhooks and the API, of the live and of the sandbox account. */
export function paddleBilling(deps: PaddleDeps): PaddleBilling {
  return {
    verify: verifyPaddleEvent,
    read: async notification => readPaddleEvent(notification),
    refresh: (queue, context) => refreshPaddleQueue(deps, queue, context),
    confirm: (claim, context) => confirmPaddleClaim(deps, claim, context),
    check: context => checkPaddleApi(deps, context),
    checkKey: context => checkPaddleKey(deps, context),
    events: (sinceMs, context) => paddleEvents(deps, sinceMs, context),
    subscriptions: (range, context) => paddleSubscriptions(deps, range, context),
  }
}
