import { LOCK } from '../../store/advisory-locks.ts'
import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/**
 * Whether there is a main offering, and which, is decided by one writer per environment at a time: with none there yet, no row could
 * be locked. Taken after the locks of products and before those of offerings.
 */
export const lockMain = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.mainOffering, environment])
