import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { lockListed } from '../products/listed.ts'
import { invalidField, Refusal } from '../refusal.ts'
import { lockMain } from './main.ts'
import { listProductsOf, MAIN, type Offering } from './offering.ts'

export type NewOffering = Pick<Offering, 'id' | 'tag' | 'product_ids'>

/** The first offering of an environment becomes the main one. */
export async function createOffering(tx: Tx, environment: Environment, given: NewOffering): Promise<Offering> {
  const { id, tag, product_ids } = given
  if (tag === MAIN) throw new Refusal('cannot_set_main_directly', 'an offering is made the main one by v4SetMainOffering')
  if (tag !== 0 && tag !== null) throw invalidField('tag', 'must be 0 or null')
  await lockListed(tx, environment, product_ids)
  await lockMain(tx, environment)
  const { rows } = await tx.query<Pick<Offering, 'tag' | 'created_at' | 'updated_at'>>(
    `insert into offerings (environment, id, tag, created_at, updated_at)
     select $1, $2,
       case when exists (select 1 from offerings where environment = $1 and tag = 1 and variant_of is null) then $3::smallint else 1 end,
       t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, id) do nothing returning tag, created_at, updated_at`,
    [environment, id, tag],
  )
  if (!rows[0]) throw new Refusal('offering_already_exists', `offering ${id} exists already`)
  await listProductsOf(tx, environment, id, product_ids)
  return { ...given, ...rows[0] }
}
