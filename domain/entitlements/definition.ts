import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** An access right and the products that give it, in the order in which they were given. */
export type Entitlement = { id: string; description: string | null; product_ids: string[]; created_at: string; updated_at: string }

/** Of `entitlements`. */
export const ENTITLEMENT_COLUMNS = `id, description, created_at, updated_at, array(
    select l.product_id from entitlement_products l
    where l.environment = entitlements.environment and l.entitlement_id = entitlements.id order by l.position) as product_ids`

/** The list of a new definition. The products are locked (`lockListed`). */
export const listProductsOf = (tx: Tx, environment: Environment, id: string, products: string[]) =>
  tx.query(
    `insert into entitlement_products (environment, entitlement_id, position, product_id)
     select $1, $2, p.n, p.id from unnest($3::text[]) with ordinality p(id, n)`,
    [environment, id, products],
  )
