import type { FactAccess } from '../domain/analytics/figures/open-source.ts'
import type { BacktestTurns } from '../domain/automations/backtest/turns.ts'
import type { BlockCutting } from '../domain/events/blocks.ts'
import type { AppleAdsEntities } from '../domain/integrations/apple-ads/change.ts'
import type { IntegrationProbe } from '../domain/integrations/probe.ts'
import type { Trail } from '../domain/kernel/audit/record.ts'
import type { RetentionDays } from '../domain/kernel/retention-days.ts'
import type { Principal } from '../domain/operators/principal.ts'
import type { ChannelProbe } from '../domain/oversight/alerts/channel-settings.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { UnverifiedPurchases, Verifiers } from '../domain/purchases/verification.ts'
import type { OperationDescription, OperationId } from '../schemas/generated/operations.ts'
import type { AnswerBody, Input } from '../schemas/operation-types.ts'
import type { Pool, Tx } from '../store/connect.ts'
import type { ClaimMetrics } from './metrics.ts'
import type { RequestTurns, StatementTurn } from './request-turns.ts'

/** What handlers need besides the request. */
export type ApiDeps = {
  pool: Pool
  /** Connections that plan a statement once (`plansOnce`), for the lists that are read most. */
  listing: Pool
  /** For pages far down the list of events. */
  blocks: BlockCutting
  /**
   * For what an operation commits while its own transaction is open. From one pool, enough such operations would wait for each other's
   * connections.
   */
  stepping: Pool
  secrets: Secrets
  publicUrl: string
  unverifiedPurchases: UnverifiedPurchases
  retention: RetentionDays
  /** Clients of the stores that can be asked about a purchase. */
  verifiers: Verifiers
  metrics: ClaimMetrics
  backtests: BacktestTurns
  /** Shares the connections of requests between the environments. */
  turns: RequestTurns
  /** Sends tests and probes to the providers of integrations. */
  probe: IntegrationProbe
  /** Reads and changes campaigns at Apple. */
  appleAds: AppleAdsEntities
  /** Sends tests to notification channels. */
  tryChannel: ChannelProbe
}

/** Headers of an answer with secrets. */
export const NO_STORE = { 'Cache-Control': 'no-store' }

export type Reply<Id extends OperationId> = { body: AnswerBody<Id>; headers?: Record<string, string> }
/** `trail`: what the audit entry of this request says about the actor, the project and the operation. */
type Caller = Pick<Principal, 'project' | 'environment' | 'environmentKind'> & {
  principal: Principal
  trail: Trail & { environment: number }
  /** Whether the request is a dry run. */
  dryRun: boolean
  /** The header Idempotency-Key. */
  idempotencyKey: string | undefined
}
type Call<Id extends OperationId> = Input<Id> & Caller & { deps: ApiDeps }
/** Writes audit entries about what the operation would do, in a transaction that is undone. It calls nobody outside of the database. */
type Plan<Id extends OperationId> = (call: Call<Id> & { tx: Tx }) => Promise<unknown>
type Handler<Id extends OperationId, Db> = (call: Call<Id> & Db) => Promise<Reply<Id>>
/** What a read of figures needs of its caller: plain values, because another process may compute it. */
export type FiguresCaller = Pick<Caller, 'project' | 'environment' | 'environmentKind' | 'trail'>
type FiguresHandler<Id extends OperationId> = (call: Input<Id> & FiguresCaller & { db: Pool; facts: FactAccess }) => Promise<Reply<Id>>

export type ApiOperation<Id extends OperationId = OperationId> =
  | { id: Id; mode: 'pool'; isExpensive: boolean; handle: Handler<Id, { db: Pool }>; headers: Record<string, string> }
  | { id: Id; mode: 'figures'; handle: FiguresHandler<Id>; headers: Record<string, string> }
  | {
      id: Id
      mode: 'transaction'
      /** Asks other systems before the transaction begins, because their answer may take long. */
      prepare: ((call: Call<Id> & { inTurn: StatementTurn }) => Promise<unknown>) | null
      handle: (call: Call<Id> & { tx: Tx; prepared: never }) => Promise<Reply<Id>>
      /** Takes the place of all this in a dry run. */
      plan: Plan<Id> | null
      headers: Record<string, string>
    }

/** An operation that reads, or begins its own transaction. */
export const onPool = <Id extends OperationId>(id: Id, handle: Handler<Id, { db: Pool }>): ApiOperation<Id> => ({
  id,
  mode: 'pool',
  isExpensive: false,
  handle,
  headers: {},
})

/** The same for a read whose statements may take seconds where an environment has much: few of them run at a time. */
export const expensiveRead = <Id extends OperationId>(id: Id, handle: Handler<Id, { db: Pool }>): ApiOperation<Id> => ({
  id,
  mode: 'pool',
  isExpensive: true,
  handle,
  headers: {},
})

/** A read of figures. It alone gets the facts: a process that keeps no copy of them has another one execute all that computes figures. */
export const figuresRead = <Id extends OperationId>(id: Id, handle: FiguresHandler<Id>): ApiOperation<Id> => ({
  id,
  mode: 'figures',
  handle,
  headers: {},
})

/**
 * An operation whose effects and stored idempotent answer are one transaction. `headers` go out with every success, also with a
 * replayed one.
 */
export const inTransaction = <Id extends OperationId>(
  id: Id,
  handle: Handler<Id, { tx: Tx }>,
  headers: Record<string, string> = {},
): ApiOperation<Id> => ({ id, mode: 'transaction', prepare: null, handle, plan: null, headers })

/**
 * The same, after `prepare` has asked other systems outside of the transaction. Its statements take turns of their own, so that no turn is
 * held while another system answers. The handler gets the result as `prepared`.
 */
export const preparedTransaction = <Id extends OperationId, Prepared>(
  id: Id,
  prepare: (call: Call<Id> & { inTurn: StatementTurn }) => Promise<Prepared>,
  handle: Handler<Id, { tx: Tx; prepared: Prepared }>,
  headers: Record<string, string> = {},
): ApiOperation<Id> => ({ id, mode: 'transaction', prepare, handle, plan: null, headers })

/** The operation with a plan, because its transaction alone is not all that it does. */
export const planned = <Id extends OperationId>(operation: ApiOperation<Id>, plan: Plan<Id>): ApiOperation<Id> => {
  if (operation.mode !== 'transaction') throw new Error(`${operation.id} has no transaction in which it could be planned`)
  return { ...operation, plan }
}

/** An operation of the description with what runs it. */
export type Route = { description: OperationDescription; operation: ApiOperation }
