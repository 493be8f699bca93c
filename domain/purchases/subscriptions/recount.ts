import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { FoldedPurchase } from './folded-purchase.ts'
import { NOT_SUPERSEDED, OWNER_OF, postedOf, TRANSACTION_FACTS } from './posted.ts'
import { REFUND_FACTS } from './posted-price.ts'
import { postedBack } from './posted-refunds.ts'
import { purchasesOf } from './recorded.ts'
import type { CustomerStatus } from './status.ts'

// A refund without an amount refunds what is left of the transaction; the refunds of one transaction never exceed its amount. What is taken back
// of them never exceeds the refunds. The USD that a sender states counts as long as the currency has no rate at all.
const DAY = (e: string) => `(coalesce(${e}.transaction_date, ${e}.happened_at) at time zone 'UTC')::date`

/** The rate of a currency on a day. Most amounts are in USD, and a call of the function takes longer than all else that is done with a row. */
const rateOf = (currency: string, day: string) => `case when ${currency} = 'USD' then 1 else usd_rate(${currency}, ${day}) end`

const FACTS = `
  select p.purchased_at as at, p.amount, p.currency, p.store_product_id as product, p.amount * r.rate as usd,
    (least(coalesce(p.refunded_amount, case when p.refunded_at is null then 0 else p.amount end), p.amount) + coalesce(b.amount, 0)
      + (select coalesce(sum((c ->> 'amount')::numeric), 0) from jsonb_array_elements(p.credits) c)) * r.rate as refund_usd, p.id::text as id
  from ${purchasesOf('k.user_id')} p
  left join unnest($4::bigint[], $5::numeric[]) b(purchase, amount) on b.purchase = p.id
  cross join lateral (select ${rateOf('p.currency', "(p.purchased_at at time zone 'UTC')::date")} as rate) r
  where not p.is_family_shared
  union all
  select coalesce(e.transaction_date, e.happened_at), coalesce(e.price, 0), e.currency, e.product_id, coalesce(e.price * r.rate, e.price_usd), 0, e.id
  from ${postedOf('k.user_id', TRANSACTION_FACTS)} e cross join lateral (select ${rateOf('e.currency', DAY('e'))} as rate) r
  where ${NOT_SUPERSEDED}`

// In the currency of the transaction and at the rate of its day, so a full refund equals the payment. A refund without its transaction has its own.
const POSTED_REFUNDS = `
  select coalesce(sum(case when rate is not null then back * rate
      when paid is null then greatest(back_usd, 0)
      when back = paid then paid_usd
      else round(back * paid_usd / nullif(paid, 0), 6) end), 0) as usd
  from (
    select usd_rate(currency, day) as rate, sums.* from (
      select max(t.price) as paid, max(t.price_usd) as paid_usd, max(coalesce(t.currency, e.currency)) as currency, min(coalesce(t.day, ${DAY('e')})) as day,
        clamped_sum(case when e.name = 'refund_reversed' then -coalesce(f.price, 'infinity') else coalesce(-f.price, t.price, 0) end, t.price
          order by e.happened_at, e.id) as back,
        sum(-e.price_usd) as back_usd
      from ${postedOf('k.user_id', REFUND_FACTS)} e left join lateral (
        select b.price, b.price_usd, b.currency, ${DAY('b')} as day from events b
        where b.environment = $1 and b.transaction_key = coalesce(e.platform, '') || ':' || e.transaction_id and ${OWNER_OF('b')} = ${OWNER_OF('e')}
          and b.purchase is null limit 1) t on true
      cross join lateral (select case when t.currency is null or t.currency = e.currency then e.price
        else round(e.price * coalesce(currency_factor(e.currency, t.day, t.currency), 0), 6) end as price) f
      where ${NOT_SUPERSEDED}
      group by coalesce(coalesce(e.platform, '') || ':' || e.transaction_id, e.id)) sums) of_transaction`

/**
 * SQL that writes the sums, and the statuses, of the users of `sums`. A row that would stay as it is keeps its version: a new one has an entry in each
 * index of `users`.
 */
export const writeSums = (sums: string): string => `
  update users u set first_transaction_at = c.first_at, last_payment_at = c.last_at, payments_count = c.payments,
    converted_payments = c.converted, purchase_currency = c.currency, purchase_product_id = c.product,
    gross_payments_usd = c.gross, net_payments_usd = c.gross - c.refunds, status = coalesce(c.status, u.status)
  from (${sums} offset 0) c
  cross join lateral (select ctid as row_id from users where environment = $1 and id >= c.user_id and id <= c.user_id order by id limit 1) t
  where u.ctid = t.row_id and (u.first_transaction_at, u.last_payment_at, u.payments_count, u.converted_payments, u.purchase_currency,
    u.purchase_product_id, u.gross_payments_usd, u.net_payments_usd, u.status)
    is distinct from (c.first_at, c.last_at, c.payments, c.converted, c.currency, c.product, c.gross, c.gross - c.refunds, coalesce(c.status, u.status))`

const RECOUNT = writeSums(`
  select k.user_id, k.status, f.*, f.refunded + r.usd as refunds
  from unnest($2::text[], $3::text[]) k(user_id, status)
  cross join lateral (
    select min(at) as first_at, max(at) filter (where amount > 0) as last_at, (count(*) filter (where amount > 0))::int as payments,
      (count(*) filter (where amount > 0 and usd is not null))::int as converted,
      coalesce(sum(usd) filter (where amount > 0), 0) as gross, coalesce(sum(refund_usd), 0) as refunded,
      (array_agg(currency order by at desc, id desc) filter (where amount > 0))[1] as currency,
      (array_agg(coalesce(product, '') order by at desc, id desc) filter (where amount > 0))[1] as product
    from (${FACTS}) facts) f
  cross join lateral (${POSTED_REFUNDS}) r`)

/**
 * Recounts the figures of customers from all their facts: transactions, payments, gross and net in USD. Each amount is converted at the rate
 * of the day of its purchase; an amount without a rate is only counted. Writes `statuses` in the same statement. `purchases`: all that are recorded of the
 * users. The users' rows are locked. `storePostedSums` gives the same for users of whom nothing but sales is posted.
 */
export async function recount(
  tx: Tx,
  environment: Environment,
  users: string[],
  statuses: Map<string, CustomerStatus>,
  purchases: FoldedPurchase[],
): Promise<void> {
  if (users.length === 0) return
  const refunded = purchases.filter(({ posted_back }) => posted_back.length > 0)
  await tx.query({
    name: 'recount-customers',
    text: RECOUNT,
    values: [environment, users, users.map(user => statuses.get(user) ?? null), refunded.map(({ id }) => id), refunded.map(postedBack)],
  })
}
