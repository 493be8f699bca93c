import { appleSubscription, MONTHLY } from './apple-subscription.ts'
import { playStory } from './google-story.ts'
import { PADDLE_SECRETS } from './paddle-fixture.ts'
import { paddleStory } from './paddle-story.ts'
import type { ReachedStores } from './reached-stores.ts'
import { SANDBOX_SECRET } from './stripe-fixture.ts'
import { stripeStory } from './stripe-story.ts'

export const STORES = ['apple', 'google', 'stripe', 'paddle'] as const
export type StoreName = (typeof STORES)[number]
export type Kind = 'production' | 'sandbox'

/** A subscription that a store has just sold. */
export type Sale = {
  /** Posts the notification; gives the status of the answer. */
  push(): Promise<number>
  /** What an app claims it with. */
  claim: object
}

const HOUR_MS = 3_600_000
let sales = 0

/** What the caller says; the store's word wins. */
const reportedByCaller = (at: number) => ({
  currency: 'EUR',
  price: '19.99',
  purchased_at: new Date(at).toISOString(),
  expires_at: new Date(at + 24 * HOUR_MS).toISOString(),
})

/** The project is connected to the store, with a product of either environment that is linked to what the store sells. */
export async function openShop(stores: ReachedStores, store: StoreName): Promise<void> {
  const connect = { apple: 'connectApple', google: 'connectGoogle', stripe: 'connectStripe', paddle: 'connectPaddle' } as const
  await stores[connect[store]]()
  const links = {
    apple: { apple_product_id: MONTHLY },
    google: { google_product_id: 'pro', google_base_plan_id: 'monthly' },
    stripe: { stripe_product_id: 'prod_pro' },
    paddle: { paddle_product_id: 'pro' },
  }
  for (const key of [stores.project.secret, stores.project.sandbox]) {
    await stores.good('POST', '/v4/products', { id: 'plan', type: 'subscription', duration: 'P1M', ...links[store] }, key)
    await stores.good('POST', '/v4/entitlements', { id: 'premium', product_ids: ['plan'] }, key)
  }
}

/** A subscription that began two hours ago. `account`: a user id that the app gave the store. The store offers it to a sweep, too. */
export function sell(stores: ReachedStores, store: StoreName, kind: Kind, account?: string): Sale {
  const at = Math.floor((Date.now() - 2 * HOUR_MS) / 1000) * 1000
  const number = ++sales
  const isSandbox = kind === 'sandbox'
  switch (store) {
    case 'apple': {
      const uuid = account?.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
      const setup = { environment: isSandbox ? 'Sandbox' : 'Production', ...(uuid && { account: uuid }) } as const
      const subscription = appleSubscription(stores.chain, setup)
      const notification = subscription.subscribe(at)
      const world = stores.apple[kind]
      world.lineages.push({ ...subscription.state, group: subscription.lineage })
      const { signedPayload } = JSON.parse(Buffer.from(notification.body).toString()) as { signedPayload: string }
      world.notifications.push({ signedPayload, isFailure: true })
      const claim = { app_store_data: { signed_transaction: subscription.signedTransaction(Date.now()) } }
      return { push: () => stores.pushApple(notification), claim }
    }
    case 'google': {
      const [token, order] = [`sold-${number}`, `GPA.${number}-1`]
      const story = playStory(stores.google, { token, order, isSandbox, ...(account && { accountId: account }) })
      const { body } = story.subscribe(at)
      const play_store_data = { purchase_token: token, product_id: 'pro', base_plan_id: 'monthly', order_id: order }
      return { push: () => stores.pushGoogle(body), claim: { play_store_data, ...reportedByCaller(at) } }
    }
    case 'stripe': {
      const id = `sub_sold${number}`
      const story = stripeStory(stores.stripe, { id, livemode: !isSandbox, ...(account && { userId: account }) })
      const { body } = story.subscribe(at)
      const stripe_store_data = { subscription_id: id, product_id: 'prod_pro' }
      const claim = { stripe_store_data, ...reportedByCaller(at) }
      return { push: () => stores.pushStripe(body, isSandbox ? SANDBOX_SECRET : undefined), claim }
    }
    case 'paddle': {
      const story = paddleStory(isSandbox ? stores.paddleSandbox : stores.paddle, { ...(account && { accountId: account }) })
      const [, created] = story.subscribe(at)
      const data = { transaction_id: story.latest().id, product_id: 'pro', type: 'subscription', subscription_id: story.id }
      const secret = isSandbox ? PADDLE_SECRETS.sandbox_webhook_secret : PADDLE_SECRETS.webhook_secret
      return { push: () => stores.pushPaddle(created!.body, secret), claim: { paddle_store_data: data, ...reportedByCaller(at) } }
    }
    default:
      return store satisfies never
  }
}
