import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { lockListed } from '../products/listed.ts'
import { alreadyExists } from '../refusal.ts'
import { type Entitlement, listProductsOf } from './definition.ts'

export type NewEntitlement = Pick<Entitlement, 'id' | 'description' | 'product_ids'>

/** Of two writers of one id the unique key decides. */
export async function createEntitlement(tx: Tx, environment: Environment, given: NewEntitlement): Promise<Entitlement> {
  const { id, description, product_ids } = given
  await lockListed(tx, environment, product_ids)
  const { rows } = await tx.query<Pick<Entitlement, 'created_at' | 'updated_at'>>(
    `insert into entitlements (environment, id, description, created_at, updated_at)
     select $1, $2, $3, t, t from date_trunc('second', environment_now($1)) t
     on conflict (environment, id) do nothing returning created_at, updated_at`,
    [environment, id, description],
  )
  if (!rows[0]) throw alreadyExists(`entitlement ${id} exists already`)
  await listProductsOf(tx, environment, id, product_ids)
  return { ...given, ...rows[0] }
}
