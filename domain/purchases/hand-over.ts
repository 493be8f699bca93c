import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { lockUsers } from '../users/user.ts'
import { requestAcknowledgements } from './acknowledgement.ts'
import { claimLineage } from './lineage.ts'
import { refold } from './refold.ts'

/** Lineages that are handed over at a time. An anonymous user has a few. */
const MOST = 200

/**
 * Moves the purchases of one user to another where the transfer policy is `transfer`, except those that were transferred in the last 24
 * hours. After a crash either all are moved or none. Returns the number of lineages. Call it last in a transaction. Throws `not_found` for
 * an unknown user.
 */
export async function handOverPurchases(tx: Tx, environment: Environment, from: string, to: string): Promise<number> {
  // Locks lineages, then users, as every recording does.
  const { rows } = await tx.query<{ id: number; is_connected: boolean }>(
    `select l.id, l.is_connected from lineages l join environments e on e.id = l.environment join projects p on p.id = e.project
     where l.environment = $1 and l.user_id = $2 and p.transfer_policy = 'transfer'
       and coalesce(l.transferred_at <= clock_timestamp() - interval '24 hours', true)
     order by l.id limit ${MOST} for no key update of l`,
    [environment, from],
  )
  if (rows.length === 0) return 0
  await lockUsers(tx, environment, [from, to])
  for (const { id } of rows) await claimLineage(tx, environment, { id }, to, 'transfer')
  await requestAcknowledgements(
    tx,
    environment,
    rows.filter(({ is_connected }) => is_connected).map(({ id }) => id),
  )
  await refold(tx, environment, [from, to].sort())
  return rows.length
}
