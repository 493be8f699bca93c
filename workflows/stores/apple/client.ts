import type { FetchContext, StoreClient } from '../store-client.ts'
import type { AppleAnswer, AppleDeps } from './app-store-api.ts'
import { checkAppleApi } from './check.ts'
import { confirmAppleClaim } from './confirm-claim.ts'
import { type AppleRefundWish, sendAppleConsumption } from './consumption.ts'
import { judgedChains } from './judged-chains.ts'
import { type AppleHistoryPage, type AppleHistoryRange, appleNotificationHistory } from './notification-history.ts'
import { readAppleNotification } from './read-notification.ts'
import { refreshAppleLineage } from './refresh-lineage.ts'
import { appleTestAttempts, requestAppleTest } from './test-notification.ts'
import { verifyAppleNotification } from './verify.ts'

export type AppStore = StoreClient & {
  /** For sweeps: a page of the notifications that Apple attempted to post. */
  notificationHistory(range: AppleHistoryRange, token: string | null, context: FetchContext): Promise<AppleAnswer<AppleHistoryPage>>
  /** Requests a test notification; the answer is its token. */
  requestTest(context: FetchContext): Promise<AppleAnswer<string>>
  /** The results of Apple's attempts to post a test notification. */
  testAttempts(token: string, context: FetchContext): Promise<AppleAnswer<string[]>>
  /** Answers a request for consumption information about a transaction of a customer who has consented. */
  sendConsumption(transaction: string, wish: AppleRefundWish, context: FetchContext): Promise<AppleAnswer<null>>
}

/** `roots`: certificates in DER. `onlineChecks`: certificates are checked by OCSP, and must be valid now. `now`: real time in ms. */
export type AppStoreSetup = Omit<AppleDeps, 'rules'> & { roots: readonly Buffer[]; onlineChecks: boolean; now?: () => number }

/** The App Store: Server Notifications V2 and the App Store Server API. One client for a process: it caches verified certificate chains. */
export function appStore({ roots, onlineChecks, now = Date.now, ...setup }: AppStoreSetup): AppStore {
  const deps: AppleDeps = { ...setup, rules: { roots, onlineChecks, chains: judgedChains(onlineChecks), now } }
  return {
    verify: (arrival, settings) => verifyAppleNotification(deps.rules, arrival, settings),
    read: (notification, settings) => readAppleNotification(deps.rules, notification, settings),
    refresh: (queue, context) => refreshAppleLineage(deps, queue, context),
    confirm: (claim, context) => confirmAppleClaim(deps, claim, context),
    check: context => checkAppleApi(deps, context),
    notificationHistory: (range, token, context) => appleNotificationHistory(deps, range, token, context),
    requestTest: context => requestAppleTest(deps, context),
    testAttempts: (token, context) => appleTestAttempts(deps, token, context),
    sendConsumption: (transaction, wish, context) => sendAppleConsumption(deps, transaction, wish, context),
  }
}
