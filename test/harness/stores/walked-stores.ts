import type { StorePlatform } from '../../../domain/purchases/stores/config.ts'
import { signedPayloadOf } from './apple-jws.ts'
import { appleSubscription, MONTH_MS, MONTHLY } from './apple-subscription.ts'
import { playStory } from './google-story.ts'
import { paddleStory } from './paddle-story.ts'
import type { ReachedStores } from './reached-stores.ts'
import { stripeStory } from './stripe-story.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** The step changes what the store answers; the push that it returns may be delivered or lost. */
type Step = (at: number) => () => Promise<number[]>
export type Walk = Record<'subscribe' | 'renew' | 'fail' | 'recover' | 'cancel' | 'refund', Step> & { queue: string }

/** One store of the walk-through. `hasGrace`: access goes on while the charge is tried again. */
export type WalkedStore = {
  platform: StorePlatform
  hasGrace: boolean
  /** A charge that failed and has succeeded since is known without its notification. */
  isRetryFound: boolean
  connect(stores: ReachedStores): Promise<void>
  begin(stores: ReachedStores, user: { id: string; account: string }): Walk
  /** The store does not accept the credentials any more. */
  refuse(stores: ReachedStores): void
}

/** The product of the walk-through at all stores. */
export const WALKED_PRODUCT = {
  id: 'monthly',
  apple_product_id: MONTHLY,
  google_product_id: 'pro',
  google_base_plan_id: 'monthly',
  stripe_product_id: 'prod_pro',
  paddle_product_id: 'pro',
}

/** Posts one after the other. */
const posting =
  <Push>(post: (push: Push) => Promise<number>) =>
  (...pushes: Push[]) =>
  async (): Promise<number[]> => {
    const answers: number[] = []
    for (const push of pushes) answers.push(await post(push))
    return answers
  }

const apple: WalkedStore = {
  platform: 'apple',
  hasGrace: true,
  isRetryFound: true,
  connect: stores => stores.connectApple(),
  begin(stores, { account }) {
    const story = appleSubscription(stores.chain, { account })
    const { lineages, notifications } = stores.apple.production
    lineages.push(story.state)
    const post = posting(({ body }: { body: Uint8Array }) => stores.pushApple({ body }))
    const failedPush = (notification: { body: Uint8Array }) => {
      notifications.push({ signedPayload: signedPayloadOf(notification.body), isFailure: true })
      return post(notification)
    }
    return {
      queue: story.lineage,
      subscribe: at => failedPush(story.subscribe(at)),
      renew: at => failedPush(story.renew(at)),
      fail: at => failedPush(story.failToRenew(at, at + 16 * DAY_MS)),
      recover: at => failedPush(story.recover(at)),
      cancel: at => failedPush(story.switchAutoRenew(at, false)),
      refund: at => failedPush(story.refund(at)),
    }
  },
  refuse(stores) {
    stores.apple.override = () => ({ status: 401, body: 'Unauthenticated' })
  },
}

const google: WalkedStore = {
  platform: 'google',
  hasGrace: true,
  isRetryFound: false,
  connect: stores => stores.connectGoogle(),
  begin(stores, { id }) {
    const story = playStory(stores.google, { token: `token-${id}`, accountId: id })
    const deliver = posting(({ body }: { body: Uint8Array | string }) => stores.pushGoogle(body))
    return {
      queue: story.token,
      subscribe: at => deliver(story.subscribe(at)),
      renew: at => deliver(story.renew(at)),
      fail: at => deliver(story.grace(at)),
      recover: at => deliver(story.recover(at)),
      cancel: at => deliver(story.cancel(at)),
      refund: at => deliver(story.refund(at)),
    }
  },
  refuse(stores) {
    stores.google.instead = () => ({ status: 401, body: {} })
  },
}

const stripe: WalkedStore = {
  platform: 'stripe',
  hasGrace: false,
  isRetryFound: true,
  connect: stores => stores.connectStripe(),
  begin(stores, { id }) {
    const story = stripeStory(stores.stripe, { id: `sub_${id.slice(4)}`, userId: id })
    const deliver = posting(({ body }: { body: Buffer }) => stores.pushStripe(body))
    return {
      queue: story.id,
      subscribe: at => deliver(story.subscribe(at)),
      renew: at => deliver(story.renew(at + HOUR_MS)),
      fail: at => deliver(story.draft(at), story.fail(at + HOUR_MS)),
      recover: at => deliver(story.pay(at)),
      cancel: at => deliver(story.cancel(at)),
      refund: at => deliver(story.refund(at)),
    }
  },
  refuse(stores) {
    stores.stripe.instead = () => ({ status: 401, body: { error: { type: 'invalid_request_error', message: 'Invalid API Key' } } })
  },
}

const paddle: WalkedStore = {
  platform: 'paddle',
  hasGrace: false,
  isRetryFound: true,
  connect: stores => stores.connectPaddle(),
  begin(stores, { id }) {
    const story = paddleStory(stores.paddle, { accountId: id })
    const deliver = posting(({ body }: { body: Uint8Array }) => stores.pushPaddle(body))
    return {
      queue: story.id,
      subscribe: at => deliver(...story.subscribe(at)),
      renew: at => deliver(...story.renew(at)),
      fail: at => deliver(...story.fail(at)),
      recover: at => deliver(...story.recover(at)),
      cancel: at => deliver(...story.scheduleCancel(at)),
      refund: at => deliver(...story.refund(at)),
    }
  },
  refuse(stores) {
    stores.paddle.instead = () => ({ status: 403, body: { error: { type: 'request_error', code: 'forbidden', detail: 'forbidden' } } })
  },
}

export const WALKED_STORES: WalkedStore[] = [apple, google, stripe, paddle]

/** When the steps are: two months paid, and the third charge failed 20 hours before the end of the story. */
export const walkTimes = (end: number) => {
  const fail = end - 20 * HOUR_MS
  return { subscribe: fail - 2 * MONTH_MS, renew: fail - MONTH_MS, fail }
}
