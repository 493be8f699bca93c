import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Entry } from '../events/entry.ts'
import { isoMicros, micros } from '../events/instant.ts'

/** Posted events that are a transaction: a trial, or a payment when they carry an amount. */
export const TRANSACTION_FACTS = [
  'trial_started',
  'trial_converted',
  'subscription_started',
  'subscription_renewed',
  'in_app_purchase',
] as const
export const REFUND_FACTS = ['subscription_refunded', 'in_app_refunded'] as const

const transactions = new Set<string>(TRANSACTION_FACTS)

const ADD = `
update users u set
  first_transaction_at = least(u.first_transaction_at, d.first_at),
  payments_count = u.payments_count + d.payments,
  converted_payments = u.converted_payments + d.converted,
  gross_payments_usd = u.gross_payments_usd + d.usd,
  net_payments_usd = u.net_payments_usd + d.usd,
  purchase_currency = case when d.last_at >= coalesce(u.last_payment_at, '-infinity') then d.currency else u.purchase_currency end,
  purchase_product_id = case when d.last_at >= coalesce(u.last_payment_at, '-infinity') then d.product else u.purchase_product_id end,
  last_payment_at = greatest(u.last_payment_at, d.last_at)
from (
  select user_id, min(at) as first_at, max(at) filter (where amount > 0) as last_at, (count(*) filter (where amount > 0))::int as payments,
    (count(*) filter (where amount > 0 and usd is not null))::int as converted, coalesce(sum(usd) filter (where amount > 0), 0) as usd,
    (array_agg(currency order by at desc, n desc) filter (where amount > 0))[1] as currency,
    (array_agg(coalesce(product, '') order by at desc, n desc) filter (where amount > 0))[1] as product
  from unnest($2::text[], $3::timestamptz[], $4::numeric[], $5::numeric[], $6::text[], $7::text[]) with ordinality
    as e(user_id, at, amount, usd, currency, product, n)
  group by user_id
) d
where u.environment = $1 and u.id = d.user_id`

/**
 * Adds posted transactions to what their customers' facts add up to: the same figures as counting all of them anew (`recount`), at
 * the cost of the new ones. The users' rows are locked.
 */
export async function addPostedPayments(tx: Tx, environment: Environment, entries: Entry[]): Promise<void> {
  const added = entries.filter(({ item }) => transactions.has(item.event_name))
  if (added.length === 0) return
  const at = ({ item, at }: Entry) => isoMicros(item.transaction?.transaction_date ? micros(item.transaction.transaction_date) : at)
  await tx.query({
    name: 'add-posted-payments',
    text: ADD,
    values: [
      environment,
      added.map(entry => entry.user),
      added.map(at),
      added.map(({ money }) => money.price ?? '0'),
      added.map(({ money }) => money.priceUsd),
      added.map(({ money }) => money.currency),
      added.map(({ item }) => item.product_id ?? null),
    ],
  })
}
