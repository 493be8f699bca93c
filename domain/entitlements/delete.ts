import type { Tx } from '../../store/connect.ts'
import { automationNaming } from '../automations/in-use.ts'
import type { Environment } from '../environment.ts'
import { isInUse } from '../products/in-use.ts'
import { conflict, notFound } from '../refusal.ts'
import type { Entitlement } from './definition.ts'
import { getEntitlement } from './find.ts'

async function hasActiveGrant(tx: Tx, environment: Environment, id: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select 1 from grants g cross join environment_now($1) t
     where g.environment = $1 and g.entitlement_id = $2 and (g.expires_at is null or g.expires_at > t) limit 1`,
    [environment, id],
  )
  return rowCount === 1
}

/**
 * Removes a definition that nobody holds and no active or paused automation grants. New grants wait for its lock and then find nothing. A renewal of a lapsed grant may not
 * touch the definition's row: lapsed grants are removed first, which waits for it, and one that has become active stays and refuses.
 */
export async function deleteEntitlement(tx: Tx, environment: Environment, id: string): Promise<Entitlement> {
  const locked = await tx.query('select 1 from entitlements where environment = $1 and id = $2 for update', [environment, id])
  if (locked.rowCount === 0) throw notFound('entitlement')
  const before = await getEntitlement(tx, environment, id)
  const held = () => conflict('somebody holds the entitlement at present')
  if (await hasActiveGrant(tx, environment, id)) throw held()
  if (await isInUse(tx, environment, before.product_ids)) throw held()
  const naming = await automationNaming(tx, environment, 'entitlement', id)
  if (naming !== null) throw conflict(`the automation ${naming} grants the entitlement`)
  await tx.query(`delete from grants using environment_now($1) t where environment = $1 and entitlement_id = $2 and expires_at <= t`, [
    environment,
    id,
  ])
  const removed = await tx.query(
    `delete from entitlements where environment = $1 and id = $2
     and not exists (select 1 from grants where environment = $1 and entitlement_id = $2)`,
    [environment, id],
  )
  if (removed.rowCount === 0) throw held()
  return before
}
