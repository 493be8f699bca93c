import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { NotificationVerifier } from '../../domain/purchases/store-inbox/notification.ts'
import type { StorePlatform } from '../../domain/purchases/stores/config.ts'
import { type AppleAds, appleAds } from '../apple-ads/client.ts'
import { outgoingFetch } from '../outgoing/fetch.ts'
import type { GoogleTokens } from '../outgoing/google-token.ts'
import type { Outgoing } from '../outgoing/outgoing.ts'
import { type AdServices, adServices } from './apple/ad-services.ts'
import type { AppStore } from './apple/client.ts'
import { appleRootCertificate } from './apple/root-certificate.ts'
import type { GooglePlay } from './google/client.ts'
import { loadedLater } from './loaded-later.ts'
import type { PaddleBilling } from './paddle/client.ts'
import type { StripeStore } from './stripe/client.ts'

/** The clients of all stores. One set for a process: they cache verified certificate chains. Each client is loaded when it is first needed. */
export type Stores = {
  apple: AppStore
  adServices: AdServices
  appleAds: AppleAds
  google: GooglePlay
  stripe: StripeStore
  paddle: PaddleBilling
}

/** How the stores are reached and their signatures checked. `appleRoots` in DER; undefined: Apple's own. */
export type StoresSetup = {
  outgoing: Outgoing
  tokens: GoogleTokens
  appleRoots: Buffer[] | undefined
  appleOnlineChecks: boolean
  urls: Record<
    'apple' | 'appleSandbox' | 'adServices' | 'appleAds' | 'appleId' | 'google' | 'googleCerts' | 'stripe' | 'paddle' | 'paddleSandbox',
    string
  >
  unknownWord?: (field: string, word: string) => void
}

/** A page of Apple's history is over 100 KiB. */
const ANSWER_BYTES = 8 * 1024 * 1024
const LIMIT_MS = 10_000

export function storeClients({ outgoing, tokens, appleRoots, appleOnlineChecks, urls, unknownWord }: StoresSetup): Stores {
  const fetch = outgoingFetch(outgoing, { answerBytes: ANSWER_BYTES, limitMs: LIMIT_MS })
  const appleUrls: Record<EnvironmentKind, string> = { production: urls.apple, sandbox: urls.appleSandbox }
  const now = Date.now
  return {
    apple: loadedLater(async () => {
      const { appStore } = await import('./apple/client.ts')
      const roots = appleRoots ?? [await appleRootCertificate()]
      return appStore({ fetch, urls: appleUrls, roots, onlineChecks: appleOnlineChecks })
    }),
    adServices: adServices({ outgoing, url: urls.adServices }),
    appleAds: appleAds({ outgoing, urls: { api: urls.appleAds, id: urls.appleId }, now }),
    google: loadedLater(async () => {
      const { googlePlay } = await import('./google/client.ts')
      const details = unknownWord && { unknownWord }
      return googlePlay({ outgoing, tokens, apiUrl: urls.google, certsUrl: urls.googleCerts, now, ...details })
    }, ['voidedPurchases']),
    stripe: loadedLater(async () => {
      const { stripeStore } = await import('./stripe/client.ts')
      return stripeStore({ outgoing, apiUrl: urls.stripe, now })
    }, ['recentEvents', 'allSubscriptions']),
    paddle: loadedLater(async () => {
      const { paddleBilling } = await import('./paddle/client.ts')
      return paddleBilling({ outgoing, urls: { production: urls.paddle, sandbox: urls.paddleSandbox }, now })
    }, ['events', 'subscriptions']),
  }
}

/** The function that verifies the notifications of each store. */
export const verifiersOf = ({ apple, google, stripe, paddle }: Stores): Record<StorePlatform, NotificationVerifier> => ({
  apple: apple.verify,
  google: google.verify,
  stripe: stripe.verify,
  paddle: paddle.verify,
})
