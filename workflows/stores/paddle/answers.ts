// The fields of Paddle's entities that are read. Amounts are texts in the lowest denomination of the currency. Enumerations stay texts: an
// unknown value states nothing.

type PaddlePeriod = { starts_at: string; ends_at: string }

export type PaddlePrice = {
  id?: string
  product_id?: string
  /** Absent or null: charged once. */
  billing_cycle?: { interval?: string; frequency?: number } | null
  unit_price?: { amount?: string; currency_code?: string }
}

export type PaddleCustomData = Record<string, unknown> | null

export type PaddleSubscription = {
  id: string
  status?: string
  currency_code?: string
  created_at?: string
  updated_at?: string
  started_at?: string | null
  paused_at?: string | null
  canceled_at?: string | null
  current_billing_period?: PaddlePeriod | null
  scheduled_change?: { action?: string; effective_at?: string } | null
  items?: { price?: PaddlePrice; quantity?: number; recurring?: boolean }[]
  custom_data?: PaddleCustomData
}

export type PaddleLine = {
  id?: string
  price_id?: string
  quantity?: number
  proration?: { rate?: string; billing_period?: PaddlePeriod | null } | null
  /** For the whole quantity. `total`: with tax, after the discount. `subtotal`: without both. */
  totals?: { total?: string; discount?: string; subtotal?: string } | null
  tax_rate?: string
  product?: { id?: string } | null
}

export type PaddleTransaction = {
  id: string
  status?: string
  origin?: string
  subscription_id?: string | null
  currency_code?: string
  billing_period?: PaddlePeriod | null
  created_at?: string
  billed_at?: string | null
  items?: { price?: PaddlePrice | null }[]
  details?: { totals?: { grand_total?: string; earnings?: string | null } | null; line_items?: PaddleLine[] } | null
  payments?: { status?: string; created_at?: string }[]
  custom_data?: PaddleCustomData
  /** Only where it was requested. */
  address?: { country_code?: string } | null
  /** Only where it was requested. `recur` false: the discount is for one billing period. */
  discount?: { recur?: boolean } | null
}

export type PaddleAdjustment = {
  id: string
  action?: string
  status?: string
  transaction_id?: string
  created_at?: string
  updated_at?: string
  items?: { item_id?: string; amount?: string | null; totals?: { total?: string } | null }[]
}

/** An event as it is posted, and as it is listed. */
export type PaddleEvent = { event_id: string; event_type: string; occurred_at: string; data: Record<string, unknown> }

const PAID = ['paid', 'completed']

/** A transaction is no purchase before it is paid. */
export const isPaidTransaction = ({ status = '' }: PaddleTransaction): boolean => PAID.includes(status)

/** The custom data of the app about the account. */
export function paddleAccount(of: { custom_data?: PaddleCustomData }[]): string | null {
  for (const { custom_data } of of) {
    const user = custom_data?.user_id
    if (typeof user === 'string' && user !== '') return user
    if (Number.isSafeInteger(user)) return String(user)
  }
  return null
}
