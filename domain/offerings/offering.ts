import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** An ordered group of products to sell. `tag`: 1 is the main one; 0 and null are not. */
export type Offering = { id: string; tag: number | null; product_ids: string[]; created_at: string; updated_at: string }

export const MAIN = 1

/** Of `offerings`. */
export const OFFERING_COLUMNS = `id, tag, created_at, updated_at, array(
    select l.product_id from offering_products l
    where l.environment = offerings.environment and l.offering_id = offerings.id order by l.position) as product_ids`

/** The list of an offering that has none. The products are locked (`lockListed`). */
export const listProductsOf = (tx: Tx, environment: Environment, id: string, products: string[]) =>
  tx.query(
    `insert into offering_products (environment, offering_id, position, product_id)
     select $1, $2, p.n, p.id from unnest($3::text[]) with ordinality p(id, n)`,
    [environment, id, products],
  )

export const dropListOf = (tx: Tx, environment: Environment, id: string) =>
  tx.query('delete from offering_products where environment = $1 and offering_id = $2', [environment, id])
