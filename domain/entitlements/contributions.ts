import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { VISIBLE } from '../purchases/list.ts'
import { notFound } from '../refusal.ts'
import { retryEnd } from '../subscriptions/chain.ts'
import type { Store } from '../subscriptions/purchase.ts'
import { type Contribution, foldHold, type Hold, type SubscriptionSeen } from './fold.ts'

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

// Purchases contribute through the product that links them now, to the definitions that list it now.
const CONTRIBUTIONS = `
  select ep.entitlement_id, p.platform as store, p.product, p.purchased_at as from, nullif(p.access_until, 'infinity') as until, p.run_started_at,
    p.is_subscription, p.period_type, l.auto_renewing as last_renewing, l.never_renews, l.expires_at as last_expires_at,
    l.billing_retry_at as retry_at, l.auto_renew_off_at as renew_off_at, l.grace_period_expires_at as grace_until,
    case when coalesce(l.refunded_amount, l.amount) >= l.amount then l.refunded_at end as fully_refunded_at
  from (select v.*, linked_product($1, v.platform, v.store_product_id, v.base_plan_id) as product from ${VISIBLE} v) p
  join entitlement_products ep on ep.environment = $1 and ep.product_id = p.product
  left join lateral (select * from purchases n where n.lineage = p.lineage and n.is_last and n.is_subscription order by n.purchased_at desc, n.id desc limit 1) l on true
  union all
  select entitlement_id, null, null, starts_at, expires_at, null, null, null, null, null, null, null, null, null, null from grants where environment = $1 and user_id = $2`

const ms = (time: string | null) => (time === null ? Number.POSITIVE_INFINITY : Date.parse(time))

const time = (text: string | null) => (text === null ? null : Date.parse(text))

/** Billing retry of the subscription's last period, grace included. */
function isInRetry(row: Row, now: number): boolean {
  const last = {
    expires: time(row.last_expires_at),
    autoRenewing: row.last_renewing ?? false,
    autoRenewOffAt: time(row.renew_off_at),
    retryAt: time(row.retry_at),
    graceUntil: time(row.grace_until),
    refundedAt: time(row.fully_refunded_at),
  }
  const until = retryEnd(last, ms(row.last_expires_at))
  return until !== null && last.retryAt! <= now && now < until
}

function seen(row: Row, now: number): SubscriptionSeen | null {
  if (!row.is_subscription) return null
  const inRetry = isInRetry(row, now)
  const rest = row.never_renews ? 'non_renewable' : row.last_renewing ? 'will_renew' : 'canceled'
  return { renewState: inRetry ? 'billing_issue' : rest, periodType: row.period_type }
}

const contribution = (row: Row, now: number): Contribution => {
  const [from, until] = [Date.parse(row.from), ms(row.until)]
  if (row.store === null) return { kind: 'grant', from, until, startedAt: from }
  const startedAt = row.run_started_at === null ? from : Date.parse(row.run_started_at)
  return { kind: 'purchase', from, until, startedAt, store: row.store, product: row.product!, subscription: seen(row, now) }
}

/** The user's holds on definitions, active and lapsed, by the definition's id in code point order. Throws `not_found` for an unknown user. */
export async function holdsOf(db: Db, environment: Environment, user: string): Promise<{ entitlement: string; hold: Hold }[]> {
  const known = await db.query<{ now: string }>({
    name: 'user-and-now',
    text: 'select environment_now($1) as now from users where environment = $1 and id = $2',
    values: [environment, user],
  })
  if (!known.rows[0]) throw notFound('user')
  const now = Date.parse(known.rows[0].now)
  const { rows } = await db.query<Row>({ name: 'contributions', text: CONTRIBUTIONS, values: [environment, user] })
  const byDefinition = Map.groupBy(rows, row => row.entitlement_id)
  return [...byDefinition.keys()].sort().map(entitlement => {
    const contributions = byDefinition.get(entitlement)!.map(row => contribution(row, now))
    return { entitlement, hold: foldHold(contributions, now)! }
  })
}
