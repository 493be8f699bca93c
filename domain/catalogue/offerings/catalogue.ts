import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { Product } from '../products/product.ts'

/** The most rows of each kind that are read; a project has some dozens. */
const MOST = 1000

export type CatalogueProduct = Pick<Product, 'id' | 'type' | 'duration' | 'apple_product_id' | 'google_product_id' | 'google_base_plan_id'>
export type CatalogueOffering = { id: string; tag: number | null; product_ids: string[] }

/** The products and offerings of a project. `entitlements`: their ids, by product. */
export type Catalogue = { products: CatalogueProduct[]; offerings: CatalogueOffering[]; entitlements: Record<string, string[]> }

const CATALOGUE = `
  select
    (select coalesce(json_agg(json_build_object('id', id, 'type', type, 'duration', duration, 'apple_product_id', apple_product_id,
         'google_product_id', google_product_id, 'google_base_plan_id', google_base_plan_id) order by created_at, id), '[]')
       from (select * from products where environment = $1 order by created_at, id limit ${MOST}) p) as products,
    (select coalesce(json_agg(json_build_object('id', id, 'tag', tag, 'product_ids', array(select l.product_id from offering_products l
         where l.environment = $1 and l.offering_id = o.id order by l.position)) order by created_at, id), '[]')
       from (select * from offerings where environment = $1 and variant_of is null order by created_at, id limit ${MOST}) o) as offerings,
    (select coalesce(json_object_agg(product_id, ids), '{}') from (
       select l.product_id, array_agg(l.entitlement_id order by l.entitlement_id) as ids
       from (select id from products where environment = $1 order by created_at, id limit ${MOST}) p
       cross join lateral (select * from entitlement_products where environment = $1 and product_id = p.id) l group by 1) e) as entitlements`

/** Products and offerings, the oldest first; without the copies of experiments. */
export async function readCatalogue(db: Db, environment: Environment): Promise<Catalogue> {
  const { rows } = await db.query<Catalogue>({ name: 'catalogue', text: CATALOGUE, values: [environment] })
  return rows[0]!
}
