import type { Offering } from '../../../domain/catalogue/offerings/offering.ts'
import {
  createOffering,
  deleteOffering,
  getOffering,
  listOfferings,
  setMainOffering,
  updateOffering,
} from '../../../domain/catalogue/offerings/offering.ts'
import { OFFERING_USES } from '../../../domain/catalogue/offerings/uses.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { readUses } from '../../../domain/kernel/references/uses.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { usedBy } from '../../uses.ts'

const offering = ({ id, tag, product_ids, created_at, updated_at }: Offering) => ({
  object: 'offering' as const,
  id,
  url: `/v4/offerings/${encodeURIComponent(id)}`,
  tag,
  product_ids,
  created_at,
  updated_at,
})

export const v4ListOfferings = onPool('v4ListOfferings', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listOfferings(db, environment, limit, starting_after)
  return { body: cursorPage({ url: '/v4/offerings', rows, limit, item: offering }), headers: restartedHeader(restarted) }
})

export const v4CreateOffering = inTransaction('v4CreateOffering', async ({ body, environment, trail, tx }) => {
  const { id, tag = null, product_ids = [] } = body
  const made = offering(await createOffering(tx, environment, { id, tag, product_ids }))
  await audit(tx, trail, { resource: 'offering', id, after: made })
  return { body: made }
})

export const v4GetOffering = onPool('v4GetOffering', async ({ path, principal, environment, db }) => {
  const shown = offering(await getOffering(db, environment, path.offering_id))
  const uses = await readUses(db, environment, shown.id, OFFERING_USES)
  return { body: { ...shown, ...usedBy(uses, principal.scopes) } }
})

export const v4UpdateOffering = inTransaction('v4UpdateOffering', async ({ path, body, environment, trail, tx }) => {
  const { before, after } = await updateOffering(tx, environment, path.offering_id, body)
  if (!after) return { body: offering(before) }
  await audit(tx, trail, { resource: 'offering', id: before.id, before: offering(before), after: offering(after) })
  return { body: offering(after) }
})

export const v4DeleteOffering = inTransaction('v4DeleteOffering', async ({ path, environment, trail, tx }) => {
  const gone = await deleteOffering(tx, environment, path.offering_id)
  await audit(tx, trail, { resource: 'offering', id: gone.id, before: offering(gone) })
  return { body: undefined }
})

export const v4SetMainOffering = inTransaction('v4SetMainOffering', async ({ path, environment, trail, tx }) => {
  const { before, after } = await setMainOffering(tx, environment, path.offering_id)
  if (!after) return { body: offering(before) }
  await audit(tx, trail, { resource: 'offering', id: before.id, before: offering(before), after: offering(after) })
  return { body: offering(after) }
})
