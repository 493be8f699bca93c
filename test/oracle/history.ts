/** Unix seconds. */
export type Instant = number

export const HOUR = 3600
export const DAY = 86_400

export type Store = 'iOS' | 'Android' | 'Stripe' | 'Paddle'
export type Product = {
  id: string
  /** ISO 8601, of days, weeks, months and years. */
  duration: string | null
  /** The id that purchases of a store name; for Google Play `{product}:{base plan}`, or the product alone. */
  linked: Partial<Record<Store, string>>
}

export type Rate = { date: string; currency: string; usdPerUnit: string }

export type User = { id: string; createdAt: Instant }

/** A purchase as `v4CreatePurchase` recorded it and `v4UpdateUserPurchase` left it. */
export type Purchase = {
  is: 'purchase'
  user: string
  store: Store
  transaction: string
  /** Null: a one-time purchase. */
  lineage: string | null
  product: string
  currency: string
  price: string
  purchasedAt: Instant
  /** Null: a one-time purchase. */
  expiresAt: Instant | null
  isIntro: boolean
  isFamilyShared: boolean
  country: string | null
  screen: string | null
  /** When the service heard that auto-renew is off; null while it is on. */
  autoRenewOffAt: Instant | null
  /** When the service heard that auto-renew is off, on, off … */
  autoRenewChanges: Instant[]
  billingRetryAt: Instant | null
  graceExpiresAt: Instant | null
  refundedAt: Instant | null
  refundedAmount: string | null
  /** What had gone back in all, after each statement about it. */
  refundStatements: { at: Instant; total: string }[]
}

/** An item of `v4CreateEvents`. */
export type Posted = {
  is: 'event'
  id: string
  user: string
  name: string
  happenedAt: Instant
  store: Store | null
  product: string | null
  transaction: string | null
  lineage: string | null
  transactionDate: Instant | null
  expiresAt: Instant | null
  graceExpiresAt: Instant | null
  currency: string | null
  price: string | null
  proceeds: string | null
  priceUsd: string | null
  proceedsUsd: string | null
  /** The field `screen_id`: the screen that sold. */
  screen: string | null
  /** The property `screen_id`: the screen that was shown. */
  shownScreen: string | null
  country: string | null
  appVersion: string | null
  locale: string | null
  device: string | null
  mediaSource: string | null
  campaign: string | null
}

/** Everything that was posted to an environment, as plain values. */
export type History = {
  now: Instant
  products: Product[]
  rates: Rate[]
  users: User[]
  /** In the order in which the service received them. */
  arrivals: (Purchase | Posted)[]
  /** All events in the log: those that were posted, and those that the service emitted. */
  occurrences: { user: string; happenedAt: Instant }[]
  /** Members of the segments that questions name. */
  segments: Record<string, string[]>
  /** Users in the groups of experiments that questions name, by `{experiment}:{group}`. */
  experimentGroups: Record<string, string[]>
  /** `PROCEEDS_RATES` of the operator. */
  proceedsRates?: Partial<Record<Store, string>>
}
