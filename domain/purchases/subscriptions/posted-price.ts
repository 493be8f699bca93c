import { slugsSql } from '../../events/catalogue.ts'

/** Posted events of refunds, or of refunds that were taken back. */
export const REFUND_FACTS = ['subscription_refunded', 'in_app_refunded', 'refund_reversed'] as const
const refundFacts = new Set<string>(REFUND_FACTS)
export const isRefundFact = (name: string): boolean => refundFacts.has(name)

/**
 * SQL: the posted refunds that name a transaction. An ordered range, which only one index has. If no refunds are posted, it is not read for
 * each purchase.
 */
export const REFUNDS_OF_TRANSACTION = (transaction: string): string => {
  const posted = `environment = $1 and purchase is null and transaction_id is not null and name in (${slugsSql(REFUND_FACTS)})`
  return `(select * from events where (select 1 from events where ${posted} limit 1) is not null and ${posted}
      and transaction_id >= ${transaction} and transaction_id <= ${transaction} order by transaction_id)`
}

// A refund in another currency than its charge has the rates of the day of the charge. Without rates nothing says how much of the charge went back.
const REFUNDED = `(select round(e.price * case when b.currency = e.currency then 1
    else coalesce(currency_factor(e.currency, (coalesce(b.transaction_date, b.happened_at) at time zone 'UTC')::date, b.currency), 0) end, 6)
  from events b where b.environment = $1 and b.transaction_key >= coalesce(e.platform, '') || ':' || e.transaction_id
    and b.transaction_key <= coalesce(e.platform, '') || ':' || e.transaction_id and coalesce(b.lineage_owner, b.user_id) = coalesce(e.lineage_owner, e.user_id) and b.currency is not null
  order by b.transaction_key limit 1)`

/** SQL: the price of the event `e`; of a refund, in the currency of its charge. */
export const POSTED_PRICE = `case when e.name in (${slugsSql(REFUND_FACTS)}) and e.price is not null then coalesce(${REFUNDED}, e.price) else e.price end`
