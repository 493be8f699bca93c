import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import type { StatedPeriod } from './store-facts/stated-period.ts'
import type { Store } from './subscriptions/purchase.ts'

/** Whether a product is a subscription. */
export const isRecurring = ({ type, duration }: { type: string | null; duration: string | null }): boolean =>
  type === null ? duration !== null : type === 'subscription' || type === 'subscription_with_promo'

type Linked = { subject: string; type: string | null; duration: string | null; end: string | null }

/**
 * Completes the transactions that are subscriptions if the product that links the store's product is one. Such a subscription lasts as long as the product says and is never renewed.
 */
export async function withLinkedTypes(tx: Tx, environment: Environment, platform: Store, periods: StatedPeriod[]): Promise<StatedPeriod[]> {
  const open = periods.filter(
    ({ isSubscription, product, begins }) => isSubscription === 'by_product' && product !== undefined && begins !== undefined,
  )
  if (open.length === 0) return periods
  const { rows } = await tx.query<Linked>({
    name: 'linked-types',
    text: `select s.subject, p.type, p.duration, (((s.begins at time zone 'UTC') + p.duration::interval) at time zone 'UTC') as end
           from unnest($3::text[], $4::text[], $5::text[], $6::timestamptz[]) s(subject, product, plan, begins)
           left join products p on p.environment = $1 and p.id = linked_product($1, $2, s.product, s.plan)`,
    values: [
      environment,
      platform,
      open.map(({ subject }) => subject),
      open.map(({ product }) => product),
      open.map(({ basePlan }) => basePlan ?? null),
      open.map(({ begins }) => begins),
    ],
  })
  const linked = new Map(rows.map(row => [row.subject, row]))
  return periods.map(period => {
    const product = linked.get(period.subject)
    if (!product) return period
    const isSubscription = isRecurring(product)
    return { ...period, isSubscription, ...(isSubscription && { ends: period.ends ?? product.end, isPrepaid: true }) }
  })
}
