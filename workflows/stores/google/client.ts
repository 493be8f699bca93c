import type { Asking, StoreClient, Swept } from '../store-client.ts'
import { type Acknowledged, acknowledgePlay } from './acknowledge.ts'
import { googleCertificates } from './certificates.ts'
import { checkPlayApi } from './check.ts'
import { confirmPlay } from './confirm.ts'
import type { PlayDeps } from './developer-api.ts'
import { readPlayNotification } from './read-notification.ts'
import { refreshLane } from './refresh.ts'
import { verifyPush } from './verify.ts'
import { voidedPurchases } from './voided-purchases.ts'

export type GooglePlay = StoreClient & {
  /** Once the purchase of a token is recorded and owned by a user. May be repeated. */
  acknowledge(token: string, asking: Asking): Promise<Acknowledged>
  /** For sweeps: what was taken back since a time in ms, a page at a time. */
  voidedPurchases(sinceMs: number, asking: Asking): AsyncGenerator<Swept, void, void>
}

/** Google Play: real-time developer notifications through Pub/Sub, and the Developer API. */
export function googlePlay(deps: PlayDeps): GooglePlay {
  const certificatesFor = googleCertificates(deps.outgoing, deps.certsUrl, deps.now)
  return {
    admit: (arrival, settings) => verifyPush(arrival, settings, certificatesFor, deps.now),
    read: async notification => readPlayNotification(notification),
    refresh: (lane, asking) => refreshLane(deps, lane, asking),
    confirm: (claim, asking) => confirmPlay(deps, claim, asking),
    check: asking => checkPlayApi(deps, certificatesFor, asking),
    acknowledge: (token, asking) => acknowledgePlay(deps, token, asking),
    voidedPurchases: (sinceMs, asking) => voidedPurchases(deps, sinceMs, asking),
  }
}
