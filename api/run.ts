import type { FactAccess } from '../domain/analytics/figures/open-source.ts'
import { isLogConflict } from '../domain/events/write.ts'
import type { AuditEntry } from '../domain/kernel/audit/record.ts'
import { findAnswer } from '../domain/kernel/idempotent-answers.ts'
import type { Detail } from '../domain/kernel/refusal.ts'
import { assertCovered } from '../domain/operators/grants/grant.ts'
import { actorFor, type Principal } from '../domain/operators/principal.ts'
import { assertRoleCovers } from '../domain/operators/session-owner.ts'
import { assertNotResetting } from '../domain/oversight/sandbox/reset.ts'
import { isTransactionConflict } from '../domain/purchases/create.ts'
import { details } from '../schemas/details.ts'
import type { OperationDescription } from '../schemas/generated/operations.ts'
import { abandonable } from '../store/abandonable.ts'
import type { Db, Pool, Tx } from '../store/connect.ts'
import { span } from '../store/tracing.ts'
import { rehearsal, transaction } from '../store/transaction.ts'
import { type AnalyticsProcess, computeFigures, type FiguresRoute } from './analytics/compute.ts'
import { type AnswerCheck, answerOf, type CallToAnswer, userOf } from './answered.ts'
import { DESCRIBED_DRY_RUN, dryRunOf } from './dry-run.ts'
import { invalidData, Problem } from './errors.ts'
import { type Answered, once, replayed } from './idempotency.ts'
import { masked } from './masked.ts'
import type { ApiDeps, Route } from './operation.ts'
import { permit } from './permit.ts'
import type { StatementTurn } from './request-turns.ts'
import { maskedFor, withReveals } from './reveal.ts'
import { isOpenDuringReset } from './sandbox-state.ts'

/** Whether nobody waits for an answer any more. `watched` passes on a signal of it for as long as `work` runs. */
export type Gone = { isGone(): boolean; watched<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> }
const NEVER_GONE: Gone = { isGone: () => false, watched: work => work(new AbortController().signal) }
/** Who runs an operation, and in which request. */
export type Caller = { requestId: string; owner: Principal; gone?: Gone }
/** `refusal`: what the operation has thrown, where it is the stored answer. */
export type HttpAnswer = { status: number; headers: Record<string, string>; body: string | null; refusal?: unknown }

/** `analytics`: null: this process computes figures. */
export type ExecutionDeps = ApiDeps & { facts: FactAccess; analytics: AnalyticsProcess | null }

/**
 * Runs an operation for a caller whom `permit` let pass: all faults of the input at once, then the effect and its idempotent answer in one
 * transaction. The same for every way to call it.
 */
export const run = (
  route: Route,
  caller: Caller,
  input: RequestInput,
  how: { deps: ExecutionDeps; check: AnswerCheck },
): Promise<HttpAnswer> => span(route.description.id, {}, () => perform(route, caller, input, how))

async function perform(
  route: Route,
  caller: Caller,
  input: RequestInput,
  { deps, check }: { deps: ExecutionDeps; check: AnswerCheck },
): Promise<HttpAnswer> {
  validate(route.description, input)
  const { gone = NEVER_GONE } = caller
  const execution: Execution = { route, deps, check, repeat: input.repeat, gone, call: callOf(route, caller, input, deps) }
  if (execution.call.dryRun && route.description.dryRun !== 'own') return tryOut(execution)
  const answered = await execute(execution)
  return httpAnswer(route, caller.owner, answered)
}

/** The answer to the same request before, if any: nothing is performed. */
export async function repeated(
  { description, operation }: Route,
  owner: Principal,
  input: RequestInput,
  pool: Pool,
): Promise<HttpAnswer | null> {
  permit(description, owner)
  if (!input.repeat) return null
  const answered = await replayed(pool, { environment: owner.environment, operation: description.id, ...input.repeat, user: null })
  return answered && httpAnswer({ description, operation }, owner, answered)
}

/** The Idempotency-Key of a request, with the hash of what the request says. */
type Repeat = { key: string; hash: Buffer }
/**
 * `faults`: what the validators cannot see in the query string. `repeat`: undefined without an Idempotency-Key. `dryRun`: does everything up to
 * the effect, and ignores `repeat`; of no account for an operation that changes nothing.
 */
export type RequestInput = {
  parameters: Record<string, string>
  query: Record<string, unknown>
  body: unknown
  faults: Detail[]
  repeat: Repeat | undefined
  dryRun: boolean
}

/** Refuses with all faults of path, query and body at once. */
function validate({ auth, validate }: OperationDescription, { parameters, query, body, faults }: RequestInput): void {
  // The arguments of what the MCP server alone may call are its body.
  if (auth === 'oauth-only' && (Object.keys(query).length > 0 || faults.length > 0))
    throw new Problem('invalid_request', 'this operation takes no query')
  const all = [...faults]
  const seen = new Set(faults.map(fault => fault.field))
  const collect = (part: 'path' | 'query' | 'body', value: unknown) => {
    const validator = validate[part]
    if (validator && !validator(value))
      all.push(...details(validator.errors, part, value).filter(fault => part === 'body' || !seen.has(fault.field)))
  }
  collect('path', parameters)
  collect('query', query)
  if (body !== undefined) collect('body', body)
  if (all.length > 0) throw invalidData(all)
}

/** What the handler gets, except for its connection. */
function callOf({ description }: Route, { requestId, owner }: Caller, input: RequestInput, deps: ApiDeps) {
  const { parameters, query, body } = input
  const { project, environment, environmentKind } = owner
  const dryRun = input.dryRun && description.dryRun !== null
  const trail = { project, environment, actor: actorFor(owner), operation: description.id, requestId }
  return {
    path: parameters,
    query,
    body,
    principal: owner,
    project,
    environment,
    environmentKind,
    trail,
    dryRun,
    idempotencyKey: input.repeat?.key,
    deps,
  }
}

type Execution = {
  route: Route
  deps: ExecutionDeps
  check: AnswerCheck
  repeat: Repeat | undefined
  gone: Gone
  call: ReturnType<typeof callOf>
}

/** Runs the operation when its environment has its turn: on the pool, or in one transaction. */
async function execute(execution: Execution): Promise<Answered> {
  const { route, deps, call } = execution
  const { operation } = route
  if (operation.mode === 'figures') return figures(execution)
  if (operation.mode === 'transaction') {
    const prepared = await prepare(execution)
    return deps.turns(call.environment, false, () => change(execution, prepared))
  }
  const read = async (db: Pool) => {
    await assertAllowed(db, execution)
    return answerOf(answeringOf(execution), await operation.handle({ ...call, db } as never))
  }
  if (!operation.isExpensive) return deps.turns(call.environment, false, () => read(deps.pool))
  return execution.gone.watched(signal => deps.turns(call.environment, true, () => read(abandonable(deps.pool, signal))))
}

/** Runs a read of figures in the process that keeps copies of the facts; here, where it cannot be reached. */
async function figures({ route: { description, operation }, deps, check, gone, call }: Execution): Promise<Answered> {
  const { path, query, body, project, environment, environmentKind, trail } = call
  const request = { path, query, body, project, environment, environmentKind, trail }
  const { analytics } = deps
  const elsewhere = analytics && (await gone.watched(signal => analytics.ask(description.id, request, signal)))
  return elsewhere ?? computeFigures({ description, operation } as FiguresRoute, request, deps, { check, isGone: gone.isGone })
}

/** Runs the operation in one transaction, together with its idempotent answer. */
function change(execution: Execution, prepared: PromiseSettledResult<unknown>): Promise<Answered> {
  const { route, deps, repeat, call } = execution
  const { operation, description } = route
  const isPrepared = operation.mode === 'transaction' && operation.prepare !== null
  return transaction(
    deps.pool,
    async tx => {
      // After a preparation it is too late: another system may have done its part.
      if (!isPrepared) await assertAllowed(tx, execution)
      await assertOpen(tx, execution)
      const perform = async () => {
        if (prepared.status === 'rejected') throw prepared.reason
        const reply = await operation.handle({ ...call, tx, prepared: prepared.value } as never)
        return answerOf(answeringOf(execution), await withReveals(tx, { id: description.id, owner: call.principal, deps }, reply))
      }
      if (!repeat) return perform()
      const user = userOf(call.path, call.body, undefined)
      return once(tx, { environment: call.environment, operation: description.id, ...repeat, user }, perform)
    },
    isRepeatable,
  )
}

/**
 * Does everything of the operation but its effect: its transaction is undone, and nobody outside of the database is called. The refusals are
 * those of the real call.
 */
async function tryOut(execution: Execution): Promise<HttpAnswer> {
  const { route, deps, check, call } = execution
  const { operation, description } = route
  if (operation.mode !== 'transaction' || (operation.prepare && !operation.plan))
    throw new Problem('not_available', `${description.id} has no dry run`)
  const rehearse = async (tx: Tx) => {
    await assertAllowed(tx, execution)
    await assertOpen(tx, execution)
    const changes: AuditEntry[] = []
    const rehearsed = { ...call, trail: { ...call.trail, changes }, tx } as never
    if (operation.plan) await operation.plan(rehearsed)
    else answerOf(answeringOf(execution), await operation.handle(rehearsed))
    return changes
  }
  const changes = await deps.turns(call.environment, false, () => rehearsal(deps.pool, rehearse, isRepeatable))
  const body = dryRunOf(description, call, changes)
  check(DESCRIBED_DRY_RUN, 200, body)
  return { status: 200, headers: {}, body: JSON.stringify(body) }
}

/** Refuses what a sandbox that is being emptied does not do. */
async function assertOpen(tx: Tx, { route, call }: Execution): Promise<void> {
  if (call.environmentKind === 'sandbox' && !isOpenDuringReset(route.description.id)) await assertNotResetting(tx, call.environment)
}

/** Refuses a write of a grant or a session that has ended, or that the operator's role does not cover any more, since the request began to wait for its turn. */
async function assertAllowed(db: Db, { route: { description }, call: { principal } }: Execution): Promise<void> {
  if (description.scope.endsWith(':read')) return
  if (principal.kind === 'grant') await assertCovered(db, principal, description.scope)
  else if (principal.kind === 'operator') await assertRoleCovers(db, principal, description.scope)
}

/** Errors that end when the transaction is repeated. */
const isRepeatable = (error: unknown): boolean => isLogConflict(error) || isTransactionConflict(error)

const NOTHING: PromiseSettledResult<unknown> = { status: 'fulfilled', value: undefined }

/**
 * Runs the operation's preparation. A refusal there is a refusal of the operation: the transaction throws it again, so that it is stored
 * as the idempotent answer.
 */
async function prepare(execution: Execution): Promise<PromiseSettledResult<unknown>> {
  const { route, deps, repeat, call } = execution
  const { operation, description } = route
  if (operation.mode !== 'transaction' || !operation.prepare) return NOTHING
  const inTurn: StatementTurn = work => deps.turns(call.environment, false, () => work(deps.pool))
  // A repeat gets the stored answer, so it needs no preparation.
  if (repeat && (await inTurn(db => findAnswer(db, call.environment, description.id, repeat.key)))) return NOTHING
  await inTurn(db => assertAllowed(db, execution))
  const [prepared] = await Promise.allSettled([operation.prepare({ ...call, inTurn } as never)])
  return prepared
}

const answeringOf = ({ route: { description }, check, call }: Execution): CallToAnswer => ({ description, check, call })
function httpAnswer({ operation, description }: Route, owner: Principal, answered: Answered): HttpAnswer {
  const { status, body, location, headers, refusal } = answered
  const hidden = maskedFor(owner, description.id, description.secrets)
  return {
    status,
    body: body !== null && status < 300 && hidden.length > 0 ? masked(body, hidden) : body,
    refusal,
    headers: { ...(status < 300 && operation.headers), ...headers, ...(location && { Location: location }) },
  }
}
