import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'
import { VISIBLE_PURCHASES } from '../read.ts'
import { retryEnd } from '../subscriptions/access-periods.ts'
import { parseTime } from '../subscriptions/period.ts'
import type { Store } from '../subscriptions/purchase.ts'
import { type AccessSource, foldUserEntitlement, type ShownSubscription, type UserEntitlement } from './fold.ts'

type Row = {
  entitlement_id: string
  store: Store | null
  product: string | null
  from: string
  until: string | null
  run_started_at: string | null
  is_subscription: boolean | null
  period_type: 'normal' | 'trial' | 'intro' | null
  last_renewing: boolean | null
  never_renews: boolean | null
  last_expires_at: string | null
  retry_at: string | null
  renew_off_at: string | null
  grace_until: string | null
  fully_refunded_at: string | null
}

// A purchase gives access through the product that links it at present, to the entitlements that list this product at present.
const SOURCES = `
  select ep.entitlement_id, p.platform as store, p.product, p.purchased_at as from, nullif(p.access_until, 'infinity') as until, p.run_started_at,
    p.is_subscription, p.period_type, l.auto_renewing as last_renewing, l.never_renews, l.expires_at as last_expires_at,
    l.billing_retry_at as retry_at, l.auto_renew_off_at as renew_off_at, l.grace_period_expires_at as grace_until,
    case when coalesce(l.refunded_amount, l.amount) >= l.amount then l.refunded_at end as fully_refunded_at
  from (select v.*, linked_product($1, v.platform, v.store_product_id, v.base_plan_id) as product from ${VISIBLE_PURCHASES} v) p
  cross join lateral (select entitlement_id from entitlement_products where environment = $1 and product_id = p.product offset 0) ep
  left join lateral (select * from purchases n where n.lineage = p.lineage and n.is_last and n.is_subscription order by n.purchased_at desc, n.id desc limit 1) l on true
  union all
  select entitlement_id, null, null, starts_at, expires_at, null, null, null, null, null, null, null, null, null, null from grants where environment = $1 and user_id = $2`

const never = Number.POSITIVE_INFINITY

/** Whether the subscription's last period is in billing retry, grace period included. */
function isInRetry(row: Row, now: number): boolean {
  const last = {
    expires: parseTime(row.last_expires_at),
    autoRenewing: row.last_renewing ?? false,
    autoRenewOffAt: parseTime(row.renew_off_at),
    retryAt: parseTime(row.retry_at),
    graceUntil: parseTime(row.grace_until),
    refundedAt: parseTime(row.fully_refunded_at),
  }
  const until = retryEnd(last, last.expires ?? never)
  return until !== null && last.retryAt! <= now && now < until
}

function shownSubscription(row: Row, now: number): ShownSubscription | null {
  if (!row.is_subscription) return null
  const renewal = row.never_renews ? 'non_renewable' : row.last_renewing ? 'will_renew' : 'canceled'
  return { renewState: isInRetry(row, now) ? 'billing_issue' : renewal, periodType: row.period_type }
}

const sourceOf = (row: Row, now: number): AccessSource => {
  const [from, until] = [Date.parse(row.from), parseTime(row.until) ?? never]
  if (row.store === null) return { kind: 'grant', from, until, startedAt: from }
  const startedAt = row.run_started_at === null ? from : Date.parse(row.run_started_at)
  return { kind: 'purchase', from, until, startedAt, store: row.store, product: row.product!, subscription: shownSubscription(row, now) }
}

type Held = { entitlement: string; hold: UserEntitlement }

/** The user's entitlements, active and lapsed, in the code point order of their ids. Throws `not_found` for an unknown user. */
export async function userEntitlementsOf(db: Db, environment: Environment, user: string): Promise<Held[]> {
  const found = await db.query<{ now: string }>({
    name: 'user-and-now',
    text: 'select environment_now($1) as now from users where environment = $1 and id = $2',
    values: [environment, user],
  })
  if (!found.rows[0]) throw notFound('user')
  return entitlementsAt(db, environment, user, Date.parse(found.rows[0].now))
}

/** The same of a user who exists, as of `now`, in ms. */
export async function entitlementsAt(db: Db, environment: Environment, user: string, now: number): Promise<Held[]> {
  const { rows } = await db.query<Row>({ name: 'access-sources', text: SOURCES, values: [environment, user] })
  const byEntitlement = Map.groupBy(rows, row => row.entitlement_id)
  return [...byEntitlement.keys()].sort().map(entitlement => {
    const sources = byEntitlement.get(entitlement)!.map(row => sourceOf(row, now))
    return { entitlement, hold: foldUserEntitlement(sources, now)! }
  })
}
