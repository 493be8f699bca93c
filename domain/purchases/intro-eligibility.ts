import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { VISIBLE_PURCHASES } from './read.ts'
import type { Store } from './subscriptions/purchase.ts'

/** The products of a store for which the user has had a trial or an introductory price. */
export async function introducedProducts(db: Db, environment: Environment, user: string, platform: Store): Promise<Set<string>> {
  const { rows } = await db.query<{ product: string }>({
    name: 'introduced-products',
    text: `select distinct store_product_id as product from ${VISIBLE_PURCHASES} p
           where platform = $3 and period_type in ('trial', 'intro') limit 1000`,
    values: [environment, user, platform],
  })
  return new Set(rows.map(({ product }) => product))
}
