import { slugsSql } from '../events/catalogue.ts'
import { REFUND_FACTS, STORE_OF, TRANSACTION_FACTS } from '../subscriptions/posted.ts'

const CANCELLATIONS = ['trial_canceled', 'subscription_canceled']

const ofLineage = (other: string, names: readonly string[]) =>
  `${other}.name in (${slugsSql(names)}) and ${other}.lineage = e.lineage and ${other}.platform is not distinct from e.platform`

const KIND = `case e.name when 'trial_started' then 'trial' when 'trial_converted' then 'conversion' when 'subscription_started' then 'start'
    when 'subscription_renewed' then 'renewal' else 'one_time' end`

const day = (e: string) => `(${e}.at at time zone 'UTC')::date`
// The USD that a sender states counts as long as the currency has no rate at all.
const money = (e: string, amount: string) =>
  `case when ${amount} = 0 then 0 when ${e}.currency = $2 then ${amount}
    else coalesce(${amount} * currency_factor(${e}.currency, ${day(e)}, $2),
      ${amount} * ${e}.price_usd / nullif(${e}.price, 0) * currency_factor('USD', ${day(e)}, $2)) end`

const CONVERTED = `exists (select 1 from mine c where ${ofLineage('c', ['trial_converted'])} and c.at >= e.at and c.at < m.ends)`

// A trial is cancelled by a cancellation during its run, unless it converts. For a paid run the last event counts: a renewal after the cancellation
// revokes it. A run ends where the next run begins.
const CANCELLED = `case when e.name = 'trial_started' then not ${CONVERTED} and exists (
      select 1 from mine c where ${ofLineage('c', ['trial_canceled'])} and c.happened_at >= e.at and c.happened_at < run.ends)
    else exists (
      select 1 from mine c where ${ofLineage('c', ['subscription_canceled'])} and c.happened_at >= e.at and c.happened_at < run.ends
        and not exists (select 1 from mine r where ${ofLineage('r', ['subscription_renewed'])} and r.at > c.happened_at and r.at < run.ends)) end`

// A subquery with a limit is one index probe per event; without statistics a join would read all purchases. The platform is compared in a form
// that no index contains: without statistics the index on platform and product looks as good as the index on the transaction.
const RECORDED = `(select 1 from purchases sp where sp.environment = $1 and sp.platform = any('{app_store,play_store,stripe,paddle}')
    and coalesce(sp.transaction_id, sp.order_id) = e.transaction_id and sp.platform is not distinct from ${STORE_OF('e.platform')} limit 1)`

/**
 * The facts that are posted as catalogue events, with the columns of `FACTS` and for the same lateral join. A transaction that is recorded as a
 * purchase is left out here. Each refund of a transaction counts with at most the amount of the transaction, at the rate of the
 * transaction's day; what is taken back of refunds counts as negative. The user's events are read once.
 */
export const POSTED_FACTS = `
  (with mine as materialized (
    select id, name, platform, transaction_id, coalesce(original_transaction_id, transaction_id, '') as lineage, happened_at,
      coalesce(transaction_date, happened_at) as at, price, price_usd, currency, proceeds
    from events where environment = $1 and user_id = m.user_id and purchase is null
      and name in (${slugsSql([...TRANSACTION_FACTS, ...REFUND_FACTS, ...CANCELLATIONS])})
  )
  select e.id, ${KIND} as kind, e.currency, paid.amount, value.money, value.money * coalesce(e.proceeds / nullif(e.price, 0), 0) as proceeds,
    e.name = 'trial_started' and ${CONVERTED} as converted,
    e.name in ('trial_started', 'trial_converted', 'subscription_started') and ${CANCELLED} as cancelled
  from mine e
  cross join lateral (select coalesce(e.price, 0) as amount) paid
  cross join lateral (select ${money('e', 'paid.amount')} as money) value
  cross join lateral (select least(m.ends, (select min(s.at) from mine s
    where ${ofLineage('s', ['trial_started', 'subscription_started'])} and s.at > e.at)) as ends) run
  where e.name in (${slugsSql(TRANSACTION_FACTS)}) and e.at >= m.starts and e.at < m.ends
    and (e.name <> 'in_app_purchase' or e.price > 0) and ${RECORDED} is null
  union all
  select e.id, 'refund', b.currency, back.amount, value.money, value.money * coalesce(b.proceeds / nullif(b.price, 0), 0), false, false
  from mine e
  left join lateral (select * from mine t where t.name in (${slugsSql(TRANSACTION_FACTS)}) and t.transaction_id = e.transaction_id
    and t.platform is not distinct from e.platform limit 1) t on true
  cross join lateral (select coalesce(t.price, abs(e.price)) as price, coalesce(t.price_usd, abs(e.price_usd)) as price_usd,
    coalesce(t.proceeds, abs(e.proceeds)) as proceeds, coalesce(t.currency, e.currency) as currency, coalesce(t.at, e.happened_at) as at) b
  cross join lateral (
    select case e.name when 'refund_reversed' then -1 else 1 end * least(abs(coalesce(e.price, b.price)), b.price) as amount) back
  cross join lateral (select ${money('b', 'back.amount')} as money) value
  where e.name in (${slugsSql(REFUND_FACTS)}) and e.happened_at >= m.starts and e.happened_at < m.ends and back.amount <> 0
    and ${RECORDED} is null)`
