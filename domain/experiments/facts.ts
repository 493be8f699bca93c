import { DEFAULT_SHARES, LOYAL_DAYS } from '../events/money.ts'
import { DAY_MS, RETRY_MS } from '../subscriptions/period.ts'
import { POSTED_FACTS } from './posted-facts.ts'

const RETRY_DAYS = RETRY_MS / DAY_MS

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

// A rate is only looked up where the currencies differ: a look-up takes as long as all the rest of a row.
const RATE = `(select case when p.currency = $2 then 1
    else currency_factor(p.currency, (p.purchased_at at time zone 'UTC')::date, $2) end as value)`

const SHARE = `case p.platform
    when 'app_store' then case when p.is_subscription and ${PAID_DAYS} >= ${LOYAL_DAYS} then ${DEFAULT_SHARES.iOS.loyal} else ${DEFAULT_SHARES.iOS.recurring} end
    when 'play_store' then case when p.is_subscription then ${DEFAULT_SHARES.Android.recurring} else ${DEFAULT_SHARES.Android.oneTime} end
    when 'stripe' then ${DEFAULT_SHARES.Stripe.recurring}
    else ${DEFAULT_SHARES.Paddle.recurring} end`

const isOff = (row: string) => `(not ${row}.auto_renewing and coalesce(${row}.auto_renew_off_at < m.ends, true))`

/**
 * Whether the subscription is cancelled by the end of the window. A trial is cancelled when its auto-renew was switched off before that time, or
 * at an unknown time, and is still off. A paid period is cancelled when the same holds for the last period of its run by then, or when
 * billing retry has ended by then.
 */
const CANCELLED = `case when p.amount = 0 then ${isOff('p')} else coalesce((
    select ${isOff('r')} or r.billing_retry_at + interval '${RETRY_DAYS} days' <= m.ends
    from (select q.* from purchases q where ${inRun} and q.purchased_at < m.ends order by q.purchased_at desc, q.id desc limit 1) r), false) end`

/**
 * The facts of a user in a window, for a lateral join after `m (user_id, starts, ends)`: one row per transaction and one per refund, each at
 * its own time. Parameters: $1 environment, $2 currency. Columns: id, kind (trial, start, conversion, renewal, one_time, refund), currency,
 * amount; money and proceeds in the currency $2, null without a rate, and for a refund the amounts that went back; `converted` and
 * `cancelled` for trials and for the first period of a paid subscription, as of the end of the window. The analytics define what counts:
 * trials are free periods, and nothing that a family shares counts.
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
