import type { Db } from '../../../store/connect.ts'
import { slugsSql } from '../../events/catalogue.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Platform } from '../../kernel/platform.ts'
import { notFound } from '../../kernel/refusal.ts'
import { REFUND_FACTS } from '../../purchases/subscriptions/posted-price.ts'
import type { CustomerStatus } from '../../purchases/subscriptions/status.ts'
import { type Property, sortedProperties } from '../../users/properties.ts'

export type CustomerRow = {
  id: string
  identity_id: string | null
  custom_uid: string | null
  status: CustomerStatus
  created_at: string
  last_seen_at: string
  first_transaction_at: string | null
  last_payment_at: string | null
  payments_count: number
  purchase_currency: string | null
  purchase_product_id: string | null
  net_payments_usd: number
  platform: Platform | null
  country: string | null
  device_model: string | null
  device_id: string | null
  os_version: string | null
}

/** Of `users u`. */
export const CUSTOMER_ROW_COLUMNS = `u.id, u.identity_id, u.properties ->> '_q_custom_user_id' as custom_uid, u.status, u.created_at, u.last_seen_at,
  u.first_transaction_at, u.last_payment_at, u.payments_count, u.purchase_currency, nullif(u.purchase_product_id, '') as purchase_product_id,
  round(u.net_payments_usd, 2)::float8 as net_payments_usd, u.platform, u.country, u.device_model, u.device_id, u.os_version`

const LAST_EVENTS = 100

// At the rate of the day of the transaction, which a refund has too. The stated USD counts as long as the currency has no rate at all.
const REVENUE_USD = `coalesce(round(e.price * usd_rate(e.currency, (coalesce(e.transaction_date, (
  select coalesce(b.transaction_date, b.happened_at) from events b
  where e.name in (${slugsSql(REFUND_FACTS)}) and b.environment = e.environment
    and b.transaction_key = coalesce(e.platform, '') || ':' || e.transaction_id limit 1), e.happened_at) at time zone 'UTC')::date), 6), e.price_usd)`

type CustomerEvent = { event: string; at: string; product_id: string | null; revenue_usd: number | null }
type WholeRow = CustomerRow & Record<'app_version' | 'sdk_version' | 'media_source' | 'campaign' | 'ad_set' | 'ad', string | null>
type CustomerView = { customer: WholeRow; properties: Property[]; events: CustomerEvent[] }

// Only the index of users has the order of this range. Until the first analyze the planner expects two events in an environment, and would
// read all of them by the index of times.
const NEWEST = `select * from events where environment = $1 and user_id >= $2 and user_id <= $2
  order by user_id desc, happened_at desc fetch first ${LAST_EVENTS} rows with ties`

/** A customer with all recorded fields, the properties and the newest events. */
export async function viewCustomer(db: Db, environment: Environment, id: string): Promise<CustomerView> {
  const { rows } = await db.query<WholeRow & { properties_sorted: string }>({
    name: 'get-customer',
    text: `select ${CUSTOMER_ROW_COLUMNS}, u.app_version, u.sdk_version, u.media_source, u.campaign, u.ad_set, u.ad, u.properties_sorted
           from users u where u.environment = $1 and u.id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('customer')
  const { properties_sorted, ...customer } = rows[0]
  const events = await db.query<CustomerEvent>({
    name: 'get-customer-events',
    text: `select e.name as event, e.happened_at as at, e.product_id, ${REVENUE_USD}::float8 as revenue_usd from (
             select * from (${NEWEST}) newest order by happened_at desc, id desc limit ${LAST_EVENTS}) e
           order by e.happened_at desc, e.id desc`,
    values: [environment, id],
  })
  return { customer, properties: sortedProperties(properties_sorted), events: events.rows }
}
