import { LOCK } from '../../store/advisory-locks.ts'
import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/**
 * Erasures share this lock to their end and the acceptance of an export takes it alone: so every export either is seen by the
 * erasure, or begins to read after the user has gone.
 */
export const shareErasure = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock_shared($1, $2)', [LOCK.erasure, environment])

export const closeErasure = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.erasure, environment])
