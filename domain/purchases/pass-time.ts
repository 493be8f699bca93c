import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Environment } from '../environment.ts'
import { isLogConflict } from '../events/write.ts'
import { deleteJob, lockIfDue } from '../jobs/job.ts'
import { SUBSCRIPTION_DUE } from '../subscriptions/store.ts'
import { refold } from './refold.ts'

// The user before the promise, as every change of facts locks them.
async function pass(tx: Tx, id: number): Promise<boolean> {
  const { rows } = await tx.query<{ environment: Environment; user_id: string }>(
    'select u.environment, u.id as user_id from subscriptions s join users u on u.environment = s.environment and u.id = s.user_id where s.id = $1 for no key update of u',
    [id],
  )
  const subscription = rows[0]
  if (!subscription) {
    await deleteJob(tx, SUBSCRIPTION_DUE, id)
    return false
  }
  if (!(await lockIfDue(tx, SUBSCRIPTION_DUE, id))) return false
  await refold(tx, subscription.environment, [subscription.user_id])
  return true
}

/**
 * Does what time has brought to one subscription: its events, its user's status, and the promise of what comes next, in one
 * transaction; nothing is held in between, so a process that dies has done all of it or none. False: it was done already.
 */
export const passTime = (pool: Pool, id: number): Promise<boolean> => transaction(pool, tx => pass(tx, id), isLogConflict)
