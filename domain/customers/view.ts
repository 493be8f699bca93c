import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { type Property, sortedProperties } from '../users/properties.ts'
import { CUSTOMER_COLUMNS, type CustomerRow } from './customer.ts'

const LAST_EVENTS = 100

export type CustomerEvent = { event: string; at: string; product_id: string | null; revenue_usd: number | null }
type WholeRow = CustomerRow & Record<'app_version' | 'sdk_version' | 'media_source' | 'campaign' | 'ad_set' | 'ad', string | null>
export type CustomerView = { customer: WholeRow; properties: Property[]; events: CustomerEvent[] }

/** A user with all that is recorded of it, and its newest occurrences. */
export async function viewCustomer(db: Db, environment: Environment, id: string): Promise<CustomerView> {
  const { rows } = await db.query<WholeRow & { properties_sorted: string }>({
    name: 'get-customer',
    text: `select ${CUSTOMER_COLUMNS}, u.app_version, u.sdk_version, u.media_source, u.campaign, u.ad_set, u.ad, u.properties_sorted
           from users u where u.environment = $1 and u.id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('customer')
  const { properties_sorted, ...customer } = rows[0]
  const events = await db.query<CustomerEvent>({
    name: 'get-customer-events',
    text: `select name as event, happened_at as at, product_id, price_usd::float8 as revenue_usd from events
           where environment = $1 and user_id = $2 order by happened_at desc, id desc limit ${LAST_EVENTS}`,
    values: [environment, id],
  })
  return { customer, properties: sortedProperties(properties_sorted), events: events.rows }
}
