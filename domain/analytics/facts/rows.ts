import type { PeriodLength } from './lengths.ts'

/**
 * The facts of one user, as the fold computes them and before their texts are replaced by the numbers of words. Times are Unix seconds,
 * amounts millionths of the currency, days are counted from 1970-01-01 (UTC). A text of null is unknown.
 */
export type Facts = { user: UserFact; transactions: TransactionFact[]; changes: SubscriptionChange[] }

/** Number of each kind in the table. */
export const TRANSACTION_KIND = { trial: 1, start: 2, conversion: 3, renewal: 4, one_time: 5, refund: 6, credit: 7 } as const
export type TransactionKind = keyof typeof TRANSACTION_KIND

export const CHANGE_CAUSE = { begin: 1, handover: 2, auto_renew: 3, grace: 4, retry: 5, end: 6 } as const
export type ChangeCause = keyof typeof CHANGE_CAUSE

export const SUBSCRIPTION_STATE = { none: 0, trial: 1, paid: 2, grace: 3, retry: 4, ended: 5 } as const
export type SubscriptionStateName = keyof typeof SUBSCRIPTION_STATE

export type KnownTraits = { country: string | null; app_version: string | null; locale: string | null }
/** First known values of the user. */
export type Attribution = { media: string | null; campaign: string | null }

export type UserFact = Attribution &
  KnownTraits & {
    created: number
    first_trial: number | null
    first_paid: number | null
    first_trial_or_paid: number | null
    platform: string | null
    ad_set: string | null
    ad: string | null
    /** Of the first trial or paid transaction; all null without one. */
    class_platform: string | null
    class_product: string | null
    class_currency: string | null
    class_country: string | null
    class_app_version: string | null
    class_locale: string | null
  }

export type TransactionFact = Attribution &
  KnownTraits & {
    kind: TransactionKind
    happened: number
    bought_on: number
    platform: string | null
    /** `platform|store product` or `platform|store product|base plan`. */
    product: string | null
    currency: string | null
    screen: string | null
    amount: bigint
    /** Stated by the store or the sender; null: the default share of the amount counts. */
    proceeds: bigint | null
    usd_given: bigint | null
    proceeds_usd: bigint | null
    is_loyal: boolean
    /** The key of the subscription, `platform|lineage`; null: one-time. */
    subscription: string | null
    ends: number | null
    open_until: number | null
    converted_at: number | null
    cancelled_at: number | null
    refunded_at: number | null
    refunded: bigint | null
    refunded_proceeds: bigint | null
    refunded_usd: bigint | null
    paid_before: number | null
    renewal: number | null
    firsts: number
    created: number
    first_trial_or_paid: number | null
    first_paid: number | null
    recorded: number
    purchase: number | null
    event: string | null
  }

/** The state before or after a change. `amount` is null unless it counts for MRR: state paid or grace, auto-renew on. */
export type ChangeState = KnownTraits & {
  state: SubscriptionStateName
  renewing: boolean
  amount: bigint | null
  usd_given: bigint | null
  is_intro: boolean
  length: PeriodLength | null
  bought_on: number | null
  platform: string | null
  product: string | null
  currency: string | null
}

export type SubscriptionChange = Attribution & {
  subscription: string
  happened: number
  counts_from: number | null
  cause: ChangeCause
  before: ChangeState
  after: ChangeState
  /** How many runs with a paid period ended, and how many of a trial alone. */
  paid_ended: number
  trials_ended: number
  /** In how many runs with a paid period auto-renew was switched off, or billing given up. */
  cancelled: number
  recorded: number
}
