import { RATES } from '../events/money.ts'
import { POSTED_FACTS } from './posted-facts.ts'

// Billing retry of a store that does not tell its end.
const RETRY_DAYS = 60
// Paid days of one subscription after which the App Store takes its smaller share.
const LOYAL_DAYS = 365

const PAID = 'is_subscription and q.amount > 0 and not q.is_family_shared'
const inRun = 'q.lineage = p.lineage and q.run_started_at = p.run_started_at and q.is_subscription and not q.is_family_shared'
const before = '(q.purchased_at, q.id) < (p.purchased_at, p.id)'

const KIND = `case
    when not p.is_subscription then 'one_time'
    when p.amount = 0 then 'trial'
    when exists (select 1 from purchases q where ${inRun} and q.amount > 0 and ${before}) then 'renewal'
    when exists (select 1 from purchases q where ${inRun} and q.amount = 0 and ${before}) then 'conversion'
    else 'start' end`

const PAID_DAYS = `(select coalesce(sum(extract(epoch from least(d.expires_at, d.next_at) - d.purchased_at)), 0) / 86400 from (
      select q.purchased_at, q.expires_at, lead(q.purchased_at, 1, p.purchased_at) over (order by q.purchased_at, q.id) as next_at
      from purchases q where q.lineage = p.lineage and q.${PAID} and ${before}) d)`

// Rates are looked up only where they differ: a lookup takes as long as all the rest about a row.
const RATE = `(select case when p.currency = $2 then 1
    else usd_rate(p.currency, p.purchased_at::date) / usd_rate($2, p.purchased_at::date) end as value)`

const SHARE = `case p.platform
    when 'app_store' then case when p.is_subscription and ${PAID_DAYS} >= ${LOYAL_DAYS} then ${RATES.iOS(true, true)} else ${RATES.iOS(true, false)} end
    when 'play_store' then case when p.is_subscription then ${RATES.Android(true, false)} else ${RATES.Android(false, false)} end
    when 'stripe' then ${RATES.Stripe(true, false)}
    else ${RATES.Paddle(true, false)} end`

const isOff = (row: string) => `(not ${row}.auto_renewing and coalesce(${row}.auto_renew_off_at < m.ends, true))`

/**
 * By the end of the window. A trial: auto-renew is off, or was off at its end. What is paid: the same of the last period of its run by
 * then, or the store gave up billing it.
 */
const CANCELLED = `case when p.amount = 0 then ${isOff('p')} else coalesce((
    select ${isOff('r')} or r.billing_retry_at + interval '${RETRY_DAYS} days' <= m.ends
    from (select q.* from purchases q where ${inRun} and q.purchased_at < m.ends order by q.purchased_at desc, q.id desc limit 1) r), false) end`

/**
 * The facts of a user in a window, to stand in a lateral join after `m (user_id, starts, ends)`: one row per transaction and one per
 * refund, each at its own time. Columns: id, kind (trial, start, conversion, renewal, one_time, refund), currency, amount, and in the
 * wanted currency, null without a rate, money and proceeds (those of a refund are what was given back); `converted` and `cancelled` of
 * trials and of what begins a paid subscription, as known at the end of the window.
 * $1 environment, `$2` currency. What counts is defined in the analytics: trials are free periods, nothing shared by a family counts.
 */
export const FACTS = `
  select p.id::text as id, ${KIND} as kind, p.currency, p.amount, p.amount * rate.value as money, p.amount * rate.value * ${SHARE} as proceeds,
    p.amount = 0 and exists (select 1 from purchases q
      where ${inRun} and q.amount > 0 and q.purchased_at < m.ends and not ${before}) as converted,
    p.is_subscription and ${CANCELLED} as cancelled
  from purchases p
  cross join lateral ${RATE} rate
  where p.environment = $1 and p.user_id = m.user_id and p.purchased_at >= m.starts and p.purchased_at < m.ends
    and not p.is_family_shared and (p.is_subscription or p.amount > 0)
  union all
  select p.id::text, 'refund', p.currency, back.amount, back.amount * rate.value, back.amount * rate.value * ${SHARE}, false, false
  from purchases p
  cross join lateral (select least(coalesce(p.refunded_amount, p.amount), p.amount) as amount) back
  cross join lateral ${RATE} rate
  where p.environment = $1 and p.user_id = m.user_id and p.refunded_at >= m.starts and p.refunded_at < m.ends
    and not p.is_family_shared and p.amount > 0
  union all ${POSTED_FACTS}`
