import { countGivingAccess } from '../../../domain/catalogue/products/uses.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { readUses } from '../../../domain/kernel/references/uses.ts'
import type { Entitlement } from '../../../domain/purchases/entitlements/entitlement.ts'
import {
  createEntitlement,
  deleteEntitlement,
  getEntitlement,
  listEntitlements,
  updateEntitlement,
} from '../../../domain/purchases/entitlements/entitlement.ts'
import { countGrants, ENTITLEMENT_USES } from '../../../domain/purchases/entitlements/uses.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { countOf, usedBy } from '../../uses.ts'

const entitlement = ({ id, description, product_ids, created_at, updated_at }: Entitlement) => ({
  object: 'entitlement' as const,
  id,
  url: `/v4/entitlements/${encodeURIComponent(id)}`,
  description,
  product_ids,
  created_at,
  updated_at,
})

export const v4ListEntitlements = onPool('v4ListEntitlements', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listEntitlements(db, environment, limit, starting_after)
  return { body: cursorPage({ url: '/v4/entitlements', rows, limit, item: entitlement }), headers: restartedHeader(restarted) }
})

export const v4CreateEntitlement = inTransaction('v4CreateEntitlement', async ({ body, environment, trail, tx }) => {
  const { id, description = null, product_ids } = body
  const made = entitlement(await createEntitlement(tx, environment, { id, description, product_ids: product_ids ?? [] }))
  await audit(tx, trail, { resource: 'entitlement', id, after: made })
  return { body: made }
})

export const v4GetEntitlement = onPool('v4GetEntitlement', async ({ path, principal, environment, db }) => {
  const shown = entitlement(await getEntitlement(db, environment, path.entitlement_id))
  const uses = await readUses(db, environment, shown.id, ENTITLEMENT_USES)
  const purchases = await countGivingAccess(db, environment, shown.product_ids)
  const grants = await countGrants(db, environment, shown.id)
  return {
    body: { ...shown, ...usedBy(uses, principal.scopes), active_purchases: countOf(purchases), active_grants: countOf(grants) },
  }
})

export const v4UpdateEntitlement = inTransaction('v4UpdateEntitlement', async ({ path, body, environment, trail, tx }) => {
  const { description, product_ids } = body
  const { before, after } = await updateEntitlement(tx, environment, path.entitlement_id, {
    ...(description !== undefined && { description }),
    ...(product_ids !== undefined && { product_ids: product_ids ?? [] }),
  })
  if (!after) return { body: entitlement(before) }
  await audit(tx, trail, { resource: 'entitlement', id: before.id, before: entitlement(before), after: entitlement(after) })
  return { body: entitlement(after) }
})

export const v4DeleteEntitlement = inTransaction('v4DeleteEntitlement', async ({ path, environment, trail, tx }) => {
  const gone = await deleteEntitlement(tx, environment, path.entitlement_id)
  await audit(tx, trail, { resource: 'entitlement', id: gone.id, before: entitlement(gone) })
  return { body: undefined }
})
