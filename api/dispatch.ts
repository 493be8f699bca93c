import type { IncomingMessage } from 'node:http'
import { isLogConflict } from '../domain/events/write.ts'
import { findAnswer } from '../domain/idempotent-answers.ts'
import type { KeyOwner } from '../domain/projects/keys.ts'
import { isTransactionConflict } from '../domain/purchases/create.ts'
import { details } from '../schemas/details.ts'
import type { OperationDescription, OperationId } from '../schemas/generated/operations.ts'
import { transaction } from '../store/transaction.ts'
import { invalidData, Problem } from './errors.ts'
import { type Answered, idempotencyKey, once, requestHash } from './idempotency.ts'
import type { ApiDeps, Operation, Reply } from './operation.ts'
import { parseQuery } from './query.ts'
import { readBody } from './read-body.ts'

export type Route = { description: OperationDescription; operation: Operation }
export type Incoming = {
  request: IncomingMessage
  requestId: string
  path: string
  parameters: Record<string, string>
  search: string
  owner: KeyOwner
}
export type Outgoing = { status: number; headers: Record<string, string>; body: string | null }

/** Compares an answer with the description and reports every difference. */
export type AnswerCheck = (description: OperationDescription, status: number, body: unknown) => void

/** Answers the request of a known caller on a known route: permission, body, validation, operation, in the order of the conventions. */
export async function dispatch(
  { description, operation }: Route,
  incoming: Incoming,
  deps: ApiDeps,
  check: AnswerCheck,
): Promise<Outgoing> {
  const { request, requestId, path, parameters, search, owner } = incoming
  if (owner.kind !== 'secret') throw new Problem('control_forbidden', 'this needs the Secret Key; the Project Key opens v3 only')
  if (description.auth === 'oauth-only') throw new Problem('control_forbidden', 'this operation is open through the MCP server only')

  const body = description.body ? await readBody(request, description.body.limit) : undefined
  const key = description.idempotent ? idempotencyKey(request.headers['idempotency-key'] as string | undefined) : undefined
  const { values: query, faults } = parseQuery(search, description.query)
  // Validation fills in defaults, so the hash comes before it: a repeat is the same request only when the caller sends the same.
  const hash = key === undefined ? undefined : requestHash(path, query, body)
  validate(description, parameters, query, body, faults)

  const { project, environment, environmentKind } = owner
  const actor = { kind: 'secret_key' as const, id: owner.lastFour }
  const trail = { project, environment, actor, operation: description.id, requestId }
  const call = { path: parameters, query, body, project, environment, environmentKind, trail, deps }
  const answer = async (handle: () => Promise<Reply<OperationId>>): Promise<Answered> => {
    const reply = await handle()
    check(description, description.status, reply.body)
    const url = (reply.body as { url?: string } | undefined)?.url
    return {
      status: description.status,
      body: reply.body === undefined ? null : JSON.stringify(reply.body),
      // The answers 201 and 202 name the address of the object.
      location: (description.status === 201 || description.status === 202) && url ? url : null,
      headers: reply.headers ?? {},
      user: userOf(parameters, body, reply.body),
    }
  }

  /**
   * Runs the operation's preparation. A refusal there is a refusal of the operation: the transaction throws it again, so that it is stored
   * as the idempotent answer.
   */
  async function prepare(): Promise<() => unknown> {
    if (operation.mode !== 'transaction' || !operation.prepare) return () => undefined
    // A repeat gets the stored answer, so it needs no preparation.
    if (key !== undefined && (await findAnswer(deps.pool, environment, description.id, key))) return () => undefined
    try {
      const value = await operation.prepare({ ...call, db: deps.pool } as never)
      return () => value
    } catch (error) {
      return () => {
        throw error
      }
    }
  }

  async function perform(): Promise<Answered> {
    if (operation.mode === 'pool') return answer(() => operation.handle({ ...call, db: deps.pool } as never))
    const prepared = await prepare()
    return transaction(
      deps.pool,
      tx => {
        const run = () => answer(async () => operation.handle({ ...call, tx, prepared: prepared() } as never))
        return key === undefined || hash === undefined
          ? run()
          : once(tx, { environment, operation: description.id, key, hash, user: userOf(parameters, body, undefined) }, run)
      },
      error => isLogConflict(error) || isTransactionConflict(error),
    )
  }

  const { status, body: text, location, headers } = await perform()
  return { status, body: text, headers: { ...(status < 300 && operation.headers), ...headers, ...(location && { Location: location }) } }
}

/** The user of a request: named in the path, else in the answer, else in the body. The stored answer is erased together with the user. */
function userOf(path: Record<string, string>, body: unknown, answer: unknown): string | null {
  const named = path.user_id ?? path.customer_id
  if (named !== undefined) return named
  const { object, id, user_id } = (answer ?? {}) as Record<string, unknown>
  const user = object === 'user' ? id : (user_id ?? (body as Record<string, unknown> | null | undefined)?.user_id)
  return typeof user === 'string' ? user : null
}

/** Refuses with all faults of path, query and body at once. */
function validate(
  description: OperationDescription,
  path: unknown,
  query: unknown,
  body: unknown,
  faults: { field: string; message: string }[],
): void {
  const { validate } = description
  const all = [...faults]
  const seen = new Set(faults.map(fault => fault.field))
  const collect = (part: 'path' | 'query' | 'body', value: unknown) => {
    const validator = validate[part]
    if (validator && !validator(value))
      all.push(...details(validator.errors, part, value).filter(fault => part === 'body' || !seen.has(fault.field)))
  }
  collect('path', path)
  collect('query', query)
  if (body !== undefined) collect('body', body)
  if (all.length > 0) throw invalidData(all)
}
