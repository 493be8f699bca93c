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
import type { Db } from '../../../store/connect.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { usedBy, type Viewed } from '../../uses.ts'

const offering = ({ id, tag, product_ids, created_at, updated_at }: Offering) => ({
  object: 'offering' as const,
  id,
  url: `/v4/offerings/${encodeURIComponent(id)}`,
  tag,
  product_ids,
  created_at,
  updated_at,
})

/** With what names it, as the answers about one alone have it. */
const withUses = async (db: Db, { principal, environment }: Viewed, shown: ReturnType<typeof offering>) => ({
  ...shown,
  ...usedBy(await readUses(db, environment, shown.id, OFFERING_USES), principal.scopes),
})

export const v4ListOfferings = onPool('v4ListOfferings', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listOfferings(db, environment, limit, starting_after)
  return { body: cursorPage({ url: '/v4/offerings', rows, limit, item: offering }), headers: restartedHeader(restarted) }
})

export const v4CreateOffering = inTransaction('v4CreateOffering', async call => {
  const { body, environment, trail, tx } = call
  const { id, tag = null, product_ids = [] } = body
  const made = offering(await createOffering(tx, environment, { id, tag, product_ids }))
  await audit(tx, trail, { resource: 'offering', id, after: made })
  return { body: await withUses(tx, call, made) }
})

export const v4GetOffering = onPool('v4GetOffering', async call => ({
  body: await withUses(call.db, call, offering(await getOffering(call.db, call.environment, call.path.offering_id))),
}))

export const v4UpdateOffering = inTransaction('v4UpdateOffering', async call => {
  const { path, body, environment, trail, tx } = call
  const { before, after } = await updateOffering(tx, environment, path.offering_id, body)
  if (!after) return { body: await withUses(tx, call, offering(before)) }
  await audit(tx, trail, { resource: 'offering', id: before.id, before: offering(before), after: offering(after) })
  return { body: await withUses(tx, call, offering(after)) }
})

export const v4DeleteOffering = inTransaction('v4DeleteOffering', async ({ path, environment, trail, tx }) => {
  const gone = await deleteOffering(tx, environment, path.offering_id)
  await audit(tx, trail, { resource: 'offering', id: gone.id, before: offering(gone) })
  return { body: undefined }
})

export const v4SetMainOffering = inTransaction('v4SetMainOffering', async call => {
  const { path, environment, trail, tx } = call
  const { before, after } = await setMainOffering(tx, environment, path.offering_id)
  if (!after) return { body: await withUses(tx, call, offering(before)) }
  await audit(tx, trail, { resource: 'offering', id: before.id, before: offering(before), after: offering(after) })
  return { body: await withUses(tx, call, offering(after)) }
})
