import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { deleteJob, lockIfDue } from '../durable/jobs/job.ts'
import { isLogConflict } from '../events/write.ts'
import type { Environment } from '../kernel/environment.ts'
import { refold } from './refold.ts'
import { SUBSCRIPTION_DUE } from './subscriptions/store.ts'

// The user is locked before the job, as in every change of facts.
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
 * Records what time has changed in one subscription: its events, its user's status, and the job of the next change, in one transaction.
 * There is no lease: a process that dies has recorded all of it or nothing. False: another process has recorded it already.
 */
export const passTime = (pool: Pool, id: number): Promise<boolean> => transaction(pool, tx => pass(tx, id), isLogConflict)
