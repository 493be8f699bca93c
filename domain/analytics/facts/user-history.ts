import { stepwise } from '../../kernel/in-steps.ts'
import type { FoldedPurchase } from '../../purchases/subscriptions/folded-purchase.ts'
import { type Subscription, subscriptionsInSteps } from '../../purchases/subscriptions/lineages.ts'
import type { PostedFact } from '../../purchases/subscriptions/posted.ts'
import type { KnownTraits } from './rows.ts'

/** A posted event that is a transaction or a refund; times in ms, amounts as decimal texts. */
export type PostedTransaction = KnownTraits & {
  id: string
  user_id: string
  name: string
  platform: string | null
  transaction: string | null
  at: number
  begins: number
  price: string | null
  currency: string | null
  proceeds: string | null
  price_usd: string | null
  proceeds_usd: string | null
  product_id: string | null
  screen_id: string | null
  known_country: string | null
  known_app_version: string | null
  known_locale: string | null
  /** When the event was stored. */
  recorded: number
}

/** An impression or view of a screen; `at` in ms. */
export type ScreenSeen = { at: number; screen: string }

/** First known values of the user; `created` in ms. */
export type Origin = KnownTraits & {
  no: number
  id: string
  created: number
  platform: string | null
  media: string | null
  campaign: string | null
  ad_set: string | null
  ad: string | null
}

/** Everything about a user that facts are folded from. Posted events that a recorded purchase supersedes are left out. */
export type UserHistory = {
  user: Origin
  purchases: FoldedPurchase[]
  /** About subscriptions: for the state machine. */
  posted: PostedFact[]
  /** The same events and those about one-time purchases, with all that is stated. */
  transactions: PostedTransaction[]
  screens: ScreenSeen[]
}

const computed = new WeakMap<UserHistory, Promise<Subscription[]>>()

/** Computed once, for what is stored with the customer and for the facts. Rejects with what the subscriptions throw. */
export function subscriptionsOfHistory(history: UserHistory): Promise<Subscription[]> {
  const found = computed.get(history) ?? stepwise(subscriptionsInSteps(history.purchases, history.posted))
  computed.set(history, found)
  return found
}
