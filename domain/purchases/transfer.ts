import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { notFound } from '../kernel/refusal.ts'
import { lockUsers } from '../users/user.ts'
import { requestAcknowledgements } from './acknowledgement.ts'
import { claimLineage, giveLineage, lockLineageOf } from './lineage.ts'
import { refold } from './refold.ts'

/**
 * Moves a lineage to a user by order of the operator, whatever the transfer policy is. A claim can transfer it again after 24 hours at the
 * earliest, so the change of the operator is not undone at once. The events that were emitted for the former owner stay with that user.
 * Returns the former owner. Throws `not_found` for an unknown lineage or user.
 */
export async function transferLineage(tx: Tx, environment: Environment, lineage: number, user: string): Promise<string | null> {
  const { rowCount } = await tx.query('select 1 from lineages where id = $1 and environment = $2', [lineage, environment])
  const locked = rowCount === 1 ? await lockLineageOf(tx, lineage) : undefined
  if (!locked) throw notFound('lineage')
  const former = locked.user_id
  const users = former === null ? [user] : [user, former]
  await lockUsers(tx, environment, users)
  if (former === null) await giveLineage(tx, lineage, user)
  else if (former !== user) await claimLineage(tx, environment, locked, user, 'transfer')
  if (await isConnectedLineage(tx, lineage)) await requestAcknowledgements(tx, environment, [lineage])
  await refold(tx, environment, [...new Set(users)].sort())
  return former
}

/** Whether the store of the lineage was connected when the lineage was recorded last. */
async function isConnectedLineage(tx: Tx, lineage: number): Promise<boolean> {
  const { rowCount } = await tx.query('select 1 from lineages where id = $1 and is_connected', [lineage])
  return rowCount === 1
}
