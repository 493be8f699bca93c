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
import { ENTITLEMENT_COUNTS, ENTITLEMENT_USES } from '../../../domain/purchases/entitlements/uses.ts'
import type { Db } from '../../../store/connect.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { countOf, usedBy, type Viewed } from '../../uses.ts'

const entitlement = ({ id, description, product_ids, created_at, updated_at }: Entitlement) => ({
  object: 'entitlement' as const,
  id,
  url: `/v4/entitlements/${encodeURIComponent(id)}`,
  description,
  product_ids,
  created_at,
  updated_at,
})

/** With what names it, as the answers about one alone have it. */
async function withUses(db: Db, { principal, environment }: Viewed, shown: ReturnType<typeof entitlement>) {
  const uses = await readUses(db, environment, shown.id, ENTITLEMENT_USES, ENTITLEMENT_COUNTS)
  const counts = { active_purchases: countOf(uses.active_purchases), active_grants: countOf(uses.active_grants) }
  return { ...shown, ...usedBy(uses, principal.scopes), ...counts }
}

export const v4ListEntitlements = onPool('v4ListEntitlements', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listEntitlements(db, environment, limit, starting_after)
  return { body: cursorPage({ url: '/v4/entitlements', rows, limit, item: entitlement }), headers: restartedHeader(restarted) }
})

export const v4CreateEntitlement = inTransaction('v4CreateEntitlement', async call => {
  const { body, environment, trail, tx } = call
  const { id, description = null, product_ids } = body
  const made = entitlement(await createEntitlement(tx, environment, { id, description, product_ids: product_ids ?? [] }))
  await audit(tx, trail, { resource: 'entitlement', id, after: made })
  return { body: await withUses(tx, call, made) }
})

export const v4GetEntitlement = onPool('v4GetEntitlement', async call => ({
  body: await withUses(call.db, call, entitlement(await getEntitlement(call.db, call.environment, call.path.entitlement_id))),
}))

export const v4UpdateEntitlement = inTransaction('v4UpdateEntitlement', async call => {
  const { path, body, environment, trail, tx } = call
  const { description, product_ids } = body
  const { before, after } = await updateEntitlement(tx, environment, path.entitlement_id, {
    ...(description !== undefined && { description }),
    ...(product_ids !== undefined && { product_ids: product_ids ?? [] }),
  })
  if (!after) return { body: await withUses(tx, call, entitlement(before)) }
  await audit(tx, trail, { resource: 'entitlement', id: before.id, before: entitlement(before), after: entitlement(after) })
  return { body: await withUses(tx, call, entitlement(after)) }
})

export const v4DeleteEntitlement = inTransaction('v4DeleteEntitlement', async ({ path, environment, trail, tx }) => {
  const gone = await deleteEntitlement(tx, environment, path.entitlement_id)
  await audit(tx, trail, { resource: 'entitlement', id: gone.id, before: entitlement(gone) })
  return { body: undefined }
})
