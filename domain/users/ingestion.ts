import { LOCK } from '../../store/advisory-locks.ts'
import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

/** Part of a batch's first statement: whoever looks users up after it sees every erasure that is over, and none begins before its commit. */
export const SHARE_INGESTION = `pg_advisory_xact_lock_shared(${LOCK.ingestion}, $1::int)`

/** Waits for the batches under way, and holds back the next ones until the transaction ends. */
export const closeIngestion = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.ingestion, environment])
