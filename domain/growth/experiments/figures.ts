/** Of the users of a group. Amounts are rounded to cents. `…_variance` is the variance of the amounts per user; null for fewer than two users. */
export type Figures = {
  group_id: string
  users: number
  pinned_users: number
  paying_users: number
  trial_users: number
  trials: number
  converted_trials: number
  cancelled_trials: number
  trial_conversions: number
  subscriptions: number
  cancelled_subscriptions: number
  in_app_purchases: number
  sales: number
  proceeds: number
  refunds: number
  arpu: number
  sales_mean: number
  proceeds_mean: number
  refunds_mean: number
  trials_variance: number | null
  subscriptions_variance: number | null
  sales_variance: number | null
  proceeds_variance: number | null
  refunds_variance: number | null
}
