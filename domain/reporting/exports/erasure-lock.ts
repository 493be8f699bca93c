import { LOCK } from '../../../store/advisory-locks.ts'
import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

/**
 * An erasure shares this lock until its end; the acceptance of an export takes it exclusively. So either the erasure finds the export,
 * or the export begins to read after the user was deleted.
 */
export const lockErasureShared = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock_shared($1, $2)', [LOCK.erasure, environment])

export const lockErasureExclusive = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.erasure, environment])
