import type { FetchContext, StoreClient, Swept } from '../store-client.ts'
import { type Acknowledged, acknowledgePlay } from './acknowledge.ts'
import { googleCertificates } from './certificates.ts'
import { checkPlayApi } from './check.ts'
import { confirmPlay } from './confirm.ts'
import type { PlayDeps } from './developer-api.ts'
import { readPlayNotification } from './read-notification.ts'
import { refreshPlayQueue } from './refresh.ts'
import { verifyPush } from './verify.ts'
import { voidedPurchases } from './voided-purchases.ts'

export type GooglePlay = StoreClient & {
  /** Once the purchase of a token is recorded and owned by a user. May be repeated. */
  acknowledge(token: string, context: FetchContext): Promise<Acknowledged>
  /** For sweeps: purchases that were refunded or revoked since a time in ms, a page at a time. */
  voidedPurchases(sinceMs: number, context: FetchContext): AsyncGenerator<Swept, void, void>
}

/** Google Play: real-time developer notifications through Pub/Sub, and the Developer API. */
export function googlePlay(deps: PlayDeps): GooglePlay {
  const certificatesFor = googleCertificates(deps.outgoing, deps.certsUrl, deps.now)
  return {
    verify: (arrival, settings) => verifyPush(arrival, settings, certificatesFor, deps.now),
    read: async notification => readPlayNotification(notification),
    refresh: (queue, context) => refreshPlayQueue(deps, queue, context),
    confirm: (claim, context) => confirmPlay(deps, claim, context),
    check: context => checkPlayApi(deps, certificatesFor, context),
    acknowledge: (token, context) => acknowledgePlay(deps, token, context),
    voidedPurchases: (sinceMs, context) => voidedPurchases(deps, sinceMs, context),
  }
}
