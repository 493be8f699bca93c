import { setTimeout as delay } from 'node:timers/promises'
import { type AppStoreServer, appStoreServer } from '../../test/harness/stores/app-store.ts'
import { appleChain } from '../../test/harness/stores/apple-chain.ts'
import { APP_ID, BUNDLE } from '../../test/harness/stores/apple-jws.ts'
import { appleSubscription, MONTHLY } from '../../test/harness/stores/apple-subscription.ts'
import { PACKAGE, playServer, rightClaims } from '../../test/harness/stores/google.ts'
import { playStory } from '../../test/harness/stores/google-story.ts'
import { stripeServer } from '../../test/harness/stores/stripe.ts'
import { arrivalOf, KEYS } from '../../test/harness/stores/stripe-fixture.ts'
import { stripeStory } from '../../test/harness/stores/stripe-story.ts'
import type { Resources } from '../resources.ts'
import type { Caller } from '../sink.ts'

/** A signed notification of a sale to a user, as the store posts it. */
export type Signed = { path: string; body: Uint8Array; headers: Record<string, string> }
export type Store = {
  name: string
  /** Settings of the project. */
  connect(call: Caller): Promise<void>
  /** The store knows of a sale from now on. `address`: where the service is. */
  sell(user: string, address: string): Promise<Signed>
  /** How many requests the store was sent. */
  requestCount(): number
}

const PRODUCTS = { apple_product_id: MONTHLY, google_product_id: 'pro', google_base_plan_id: 'monthly', stripe_product_id: 'prod_pro' }

/** One product that all stores sell, and what it gives access to. */
export async function openShop(call: Caller): Promise<void> {
  await call('POST', '/v4/products', { id: 'plan', type: 'subscription', duration: 'P1M', ...PRODUCTS })
  await call('POST', '/v4/entitlements', { id: 'premium', product_ids: ['plan'] })
}

const soldAt = () => Math.floor((Date.now() - 60_000) / 1000) * 1000
const accountOf = (user: string) => user.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Local servers in the place of three stores, whose answers take `answerMs`, and what the product needs to find them. */
export async function startStores(
  resources: Resources,
  answerMs: number,
): Promise<{ stores: Store[]; root: Buffer; env: Record<string, string> }> {
  const chain = appleChain()
  const apple: AppStoreServer = await appStoreServer(chain)
  const [google, stripe] = await Promise.all([playServer(), stripeServer()])
  for (const server of [apple, google, stripe]) resources.undo(() => server.close())
  apple.override = () => delay(answerMs, null)
  google.instead = () => delay(answerMs, undefined)
  stripe.instead = () => delay(answerMs, undefined)
  let sold = 0
  const stores: Store[] = [
    {
      name: 'App Store',
      async connect(call) {
        await call('POST', '/v4/project-settings/stores/apple', { bundle_id: BUNDLE, app_id: String(APP_ID), ...apple.key })
      },
      async sell(user) {
        const subscription = appleSubscription(chain, { account: accountOf(user) })
        const { body } = subscription.subscribe(soldAt())
        apple.production.lineages.push({ ...subscription.state, group: subscription.lineage })
        return { path: '/stores/apple/1', body, headers: {} }
      },
      requestCount: () => apple.requests.length,
    },
    {
      name: 'Google Play',
      async connect(call) {
        await call('POST', '/v4/project-settings/stores/google', {
          package_name: PACKAGE,
          service_account_key: google.serviceAccountKey,
        })
      },
      async sell(user, address) {
        const number = ++sold
        const story = playStory(google, { token: `sold-${number}`, order: `GPA.${number}-1`, accountId: user })
        const path = '/stores/google/1'
        const authorization = `Bearer ${google.idToken(rightClaims(`${address}${path}`, Date.now()))}`
        return { path, body: story.subscribe(soldAt()).body, headers: { authorization } }
      },
      requestCount: () => google.calls().length,
    },
    {
      name: 'Stripe',
      async connect(call) {
        await call('POST', '/v4/project-settings/stores/stripe', KEYS)
      },
      async sell(user) {
        const { body } = stripeStory(stripe, { id: `sub_${user}`, userId: user }).subscribe(soldAt())
        const { headers } = await arrivalOf(body, { at: Date.now() })
        return { path: '/stores/stripe/1', body, headers: headers as Record<string, string> }
      },
      requestCount: () => stripe.requests.length,
    },
  ]
  const env = {
    APPLE_API_URL: apple.urls.production,
    APPLE_SANDBOX_API_URL: apple.urls.sandbox,
    GOOGLE_API_URL: google.url,
    GOOGLE_CERTS_URL: google.certsUrl,
    STRIPE_API_URL: stripe.url,
  }
  return { stores, root: chain.root, env }
}
