import type { IncomingMessage } from 'node:http'
import { isLogConflict } from '../domain/events/write.ts'
import type { EnvironmentKind } from '../domain/kernel/environment.ts'
import { findAnswer } from '../domain/kernel/idempotent-answers.ts'
import type { Detail } from '../domain/kernel/refusal.ts'
import { assertNotResetting } from '../domain/oversight/sandbox/reset.ts'
import { permits } from '../domain/projects/authority.ts'
import { type KeyOwner, REPLACED_KEY } from '../domain/projects/keys.ts'
import { actorFor, type Principal } from '../domain/projects/principal.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import { isTransactionConflict } from '../domain/purchases/create.ts'
import { details } from '../schemas/details.ts'
import type { OperationDescription, OperationId } from '../schemas/generated/operations.ts'
import { transaction } from '../store/transaction.ts'
import { invalidData, Problem } from './errors.ts'
import { type Answered, idempotencyKey, once, requestHash, storedHash } from './idempotency.ts'
import { masked } from './masked.ts'
import type { ApiDeps, ApiOperation, Reply } from './operation.ts'
import { parseQuery } from './query.ts'
import { readBody } from './read-body.ts'
import type { StatementTurn } from './request-turns.ts'
import { isOpenDuringReset } from './sandbox-state.ts'

export type Route = { description: OperationDescription; operation: ApiOperation }
/** `Owner`: apps have keys without scopes. */
export type ApiRequest<Owner extends Principal = Principal> = {
  request: IncomingMessage
  requestId: string
  path: string
  parameters: Record<string, string>
  search: string
  owner: Owner
  /** Is given the body before it is validated. */
  onBody: (body: unknown) => void
}
/** Of an app: its operations act in the environment of their user, which `onEnvironment` is given. */
export type AppRequest = ApiRequest<KeyOwner> & { onEnvironment: (environment: EnvironmentKind) => void }
/** `refusal`: what the operation has thrown, where it is the stored answer. */
export type HttpAnswer = { status: number; headers: Record<string, string>; body: string | null; refusal?: unknown }

/** Compares an answer with the description and reports every difference. */
export type AnswerCheck = (description: DescribedAnswers, status: number, body: unknown) => void
/** What the description says about answers; of an operation of v4 or v3. */
export type DescribedAnswers = Pick<OperationDescription, 'status'> & {
  id: string
  validate: Pick<OperationDescription['validate'], 'answer'>
}

/** Answers the request of a known caller on a known route, in the order of the conventions. */
export async function dispatch(route: Route, request: ApiRequest, deps: ApiDeps, check: AnswerCheck): Promise<HttpAnswer> {
  refuseForbidden(route.description, request.owner)
  const input = await readInput(route.description, request, deps.secrets)
  validate(route.description, input)
  const answered = await execute({ route, deps, check, repeat: input.repeat, call: callOf(route, request, input, deps) })
  return httpAnswer(route, request.owner, answered)
}

/** What the key alone decides, before anything of the request is read. */
function refuseForbidden(description: OperationDescription, owner: Principal): void {
  const { auth, sandboxOnly, currentKey, scope, secretKeyOnly } = description
  const { kind, environmentKind, scopes } = owner
  if (kind === 'project') throw new Problem('control_forbidden', 'this needs the Secret Key; the Project Key opens v3 only')
  if (!permits(scopes, scope)) throw new Problem('control_forbidden', `this key has no scope ${scope}, which ${description.id} needs`)
  if (secretKeyOnly && kind !== 'secret') throw new Problem('control_forbidden', 'this operation is open to the Secret Key only')
  if (auth === 'oauth-only') throw new Problem('control_forbidden', 'this operation is open through the MCP server only')
  if (sandboxOnly && environmentKind !== 'sandbox')
    throw new Problem('control_forbidden', 'this operation is open in the sandbox only: use a test_ key')
  if (currentKey && kind === 'secret' && !owner.isCurrent) throw new Problem('control_forbidden', REPLACED_KEY)
}

/** The Idempotency-Key of a request, with the hash of what the request says. */
type Repeat = { key: string; hash: Buffer }
/** `faults`: what the validators cannot see in the query string. `repeat`: undefined without an Idempotency-Key. */
type RequestInput = {
  parameters: Record<string, string>
  query: Record<string, unknown>
  body: unknown
  faults: Detail[]
  repeat: Repeat | undefined
}

async function readInput(
  description: OperationDescription,
  { request, path, parameters, search, onBody }: ApiRequest,
  secrets: Secrets,
): Promise<RequestInput> {
  const body = description.body ? await readBody(request, description.body.limit) : undefined
  onBody(body)
  const key = description.idempotent ? idempotencyKey(request.headers['idempotency-key'] as string | undefined) : undefined
  const { values: query, faults } = parseQuery(search, description.query)
  // Validation fills in defaults, so the hash comes before it: a repeat is the same request only when the caller sends the same.
  const repeat = key === undefined ? undefined : { key, hash: storedHash(secrets, requestHash(path, query, body)) }
  return { parameters, query, body, faults, repeat }
}

/** Refuses with all faults of path, query and body at once. */
function validate({ validate }: OperationDescription, { parameters, query, body, faults }: RequestInput): void {
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
function callOf({ description }: Route, { requestId, owner }: ApiRequest, { parameters, query, body }: RequestInput, deps: ApiDeps) {
  const { project, environment, environmentKind } = owner
  const trail = { project, environment, actor: actorFor(owner), operation: description.id, requestId }
  return { path: parameters, query, body, principal: owner, project, environment, environmentKind, trail, deps }
}

type Execution = {
  route: Route
  deps: ApiDeps
  check: AnswerCheck
  repeat: Repeat | undefined
  call: ReturnType<typeof callOf>
}

/** Runs the operation when its environment has its turn: on the pool, or in one transaction. */
async function execute(execution: Execution): Promise<Answered> {
  const { route, deps, call } = execution
  const { operation } = route
  if (operation.mode === 'transaction') {
    const prepared = await prepare(execution)
    return deps.turns(call.environment, false, () => change(execution, prepared))
  }
  const read = async () => answerOf(execution, await operation.handle({ ...call, db: deps.pool } as never))
  return deps.turns(call.environment, operation.isExpensive, read)
}

/** Runs the operation in one transaction, together with its idempotent answer. */
function change(execution: Execution, prepared: PromiseSettledResult<unknown>): Promise<Answered> {
  const { route, deps, repeat, call } = execution
  const { operation, description } = route
  return transaction(
    deps.pool,
    async tx => {
      if (call.environmentKind === 'sandbox' && !isOpenDuringReset(description.id)) await assertNotResetting(tx, call.environment)
      const perform = async () => {
        if (prepared.status === 'rejected') throw prepared.reason
        return answerOf(execution, await operation.handle({ ...call, tx, prepared: prepared.value } as never))
      }
      if (!repeat) return perform()
      const user = userOf(call.path, call.body, undefined)
      return once(tx, { environment: call.environment, operation: description.id, ...repeat, user }, perform)
    },
    error => isLogConflict(error) || isTransactionConflict(error),
  )
}

const NOTHING: PromiseSettledResult<unknown> = { status: 'fulfilled', value: undefined }

/**
 * Runs the operation's preparation. A refusal there is a refusal of the operation: the transaction throws it again, so that it is stored
 * as the idempotent answer.
 */
async function prepare({ route, deps, repeat, call }: Execution): Promise<PromiseSettledResult<unknown>> {
  const { operation, description } = route
  if (operation.mode !== 'transaction' || !operation.prepare) return NOTHING
  const inTurn: StatementTurn = work => deps.turns(call.environment, false, () => work(deps.pool))
  // A repeat gets the stored answer, so it needs no preparation.
  if (repeat && (await inTurn(db => findAnswer(db, call.environment, description.id, repeat.key)))) return NOTHING
  const [prepared] = await Promise.allSettled([operation.prepare({ ...call, inTurn } as never)])
  return prepared
}

/** The reply of a handler as it is stored and sent. */
function answerOf({ route: { description }, check, call }: Execution, reply: Reply<OperationId>): Answered {
  check(description, description.status, reply.body)
  const url = (reply.body as { url?: string } | undefined)?.url
  return {
    status: description.status,
    body: reply.body === undefined ? null : JSON.stringify(reply.body),
    // The answers 201 and 202 name the address of the object.
    location: (description.status === 201 || description.status === 202) && url ? url : null,
    headers: reply.headers ?? {},
    user: userOf(call.path, call.body, reply.body),
  }
}

/** The user of a request: named in the path, else in the answer, else in the body. The stored answer is erased together with the user. */
function userOf(path: Record<string, string>, body: unknown, answer: unknown): string | null {
  const named = path.user_id ?? path.customer_id
  if (named !== undefined) return named
  const { object, id, user_id } = (answer ?? {}) as Record<string, unknown>
  const user = object === 'user' ? id : (user_id ?? (body as Record<string, unknown> | null | undefined)?.user_id)
  return typeof user === 'string' ? user : null
}

const httpAnswer = (
  { operation, description }: Route,
  { kind }: Principal,
  { status, body, location, headers, refusal }: Answered,
): HttpAnswer => ({
  status,
  body: body !== null && status < 300 && kind !== 'secret' && description.secrets.length > 0 ? masked(body, description.secrets) : body,
  refusal,
  headers: { ...(status < 300 && operation.headers), ...headers, ...(location && { Location: location }) },
})
