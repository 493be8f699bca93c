import type { Trail } from '../domain/audit/record.ts'
import type { BacktestTurns } from '../domain/automations/backtest/turns.ts'
import type { IntegrationProbe } from '../domain/integrations/start-test.ts'
import type { KeyOwner } from '../domain/projects/keys.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { UnverifiedPurchases, Verifiers } from '../domain/purchases/verification.ts'
import type { OperationId } from '../schemas/generated/operations.ts'
import type { Answer, Input } from '../schemas/operation-types.ts'
import type { Pool, Tx } from '../store/connect.ts'

/** What handlers need beside the request. */
export type ApiDeps = {
  pool: Pool
  /** Connections that plan a statement once (`plansOnce`), for the hottest lists. */
  listing: Pool
  /** For what an operation commits on its way while its own transaction waits: from one pool, enough of them would wait for each other. */
  stepping: Pool
  secrets: Secrets
  publicUrl: string
  unverifiedPurchases: UnverifiedPurchases
  /** Clients of the stores that can be asked about a purchase. */
  verifiers: Verifiers
  backtests: BacktestTurns
  /** The way to the providers of integrations, for tests and probes. */
  probe: IntegrationProbe
}

export type Reply<Id extends OperationId> = { body: Answer<Id>; headers?: Record<string, string> }
/** `trail`: what the audit entry of this request says about who and where. */
type Caller = Pick<KeyOwner, 'project' | 'environment' | 'environmentKind'> & { trail: Trail & { environment: number } }
type Call<Id extends OperationId> = Input<Id> & Caller & { deps: ApiDeps }
type Handler<Id extends OperationId, Db> = (call: Call<Id> & Db) => Promise<Reply<Id>>

export type Operation<Id extends OperationId = OperationId> =
  | { id: Id; mode: 'pool'; handle: Handler<Id, { db: Pool }>; headers: Record<string, string> }
  | {
      id: Id
      mode: 'transaction'
      /** What must be asked of others before the transaction begins, because it may take long. */
      prepare: ((call: Call<Id> & { db: Pool }) => Promise<unknown>) | null
      handle: (call: Call<Id> & { tx: Tx; prepared: never }) => Promise<Reply<Id>>
      headers: Record<string, string>
    }

/** An operation that reads, or sees to its own transaction. */
export const onPool = <Id extends OperationId>(id: Id, handle: Handler<Id, { db: Pool }>): Operation<Id> => ({
  id,
  mode: 'pool',
  handle,
  headers: {},
})

/**
 * An operation whose effects are one transaction, the stored idempotent answer included. `headers` go out with every success,
 * replays too.
 */
export const inTransaction = <Id extends OperationId>(
  id: Id,
  handle: Handler<Id, { tx: Tx }>,
  headers: Record<string, string> = {},
): Operation<Id> => ({ id, mode: 'transaction', prepare: null, handle, headers })

/** The same, with something to be asked of others first, outside of the transaction: the handler gets it as `prepared`. */
export const preparedTransaction = <Id extends OperationId, Prepared>(
  id: Id,
  prepare: (call: Call<Id> & { db: Pool }) => Promise<Prepared>,
  handle: Handler<Id, { tx: Tx; prepared: Prepared }>,
  headers: Record<string, string> = {},
): Operation<Id> => ({ id, mode: 'transaction', prepare, handle, headers })
