import type { AppleChain } from './apple-chain.ts'
import type { AppleNotification } from './apple-jws.ts'
import { type AppleSubscription, appleSubscription, MONTH_MS, type SubscriptionSetup } from './apple-subscription.ts'

const DAY_MS = 86_400_000

export type AppleStory = { subscription: AppleSubscription; notifications: AppleNotification[] }

/**
 * A subscription of five months, told in order: subscribed, renewed, a charge that failed in grace, recovered, auto-renew off, on and off again, a
 * part refunded, expired. `subscription.state` is what Apple knows at its end.
 */
export function appleStory(chain: AppleChain, begin: number, setup: SubscriptionSetup = {}): AppleStory {
  const subscription = appleSubscription(chain, setup)
  const [second, third] = [begin + MONTH_MS, begin + 2 * MONTH_MS]
  const recovery = third + 3 * DAY_MS
  const notifications = [
    subscription.subscribe(begin),
    subscription.renew(second),
    subscription.failToRenew(third, third + 16 * DAY_MS),
    subscription.recover(recovery),
    subscription.switchAutoRenew(recovery + DAY_MS, false),
    subscription.switchAutoRenew(recovery + 2 * DAY_MS, true),
    subscription.renew(recovery + MONTH_MS),
    subscription.switchAutoRenew(recovery + MONTH_MS + DAY_MS, false),
    subscription.refund(recovery + MONTH_MS + 2 * DAY_MS, 50_000),
    subscription.expire(recovery + 2 * MONTH_MS, 'VOLUNTARY'),
  ]
  return { subscription, notifications }
}
