import type { IncomingMessage } from 'node:http'
import type { EnvironmentKind } from '../domain/kernel/environment.ts'
import type { Principal } from '../domain/operators/principal.ts'
import type { KeyOwner } from '../domain/projects/keys.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { OperationDescription } from '../schemas/generated/operations.ts'
import type { AnswerCheck } from './answered.ts'
import { readDryRun } from './dry-run.ts'
import { Problem } from './errors.ts'
import { idempotencyKey, requestHash, storedHash } from './idempotency.ts'
import type { Route } from './operation.ts'
import { permit } from './permit.ts'
import { parseQuery } from './query.ts'
import { readBody } from './read-body.ts'
import { type ExecutionDeps, type Gone, type HttpAnswer, type RequestInput, run } from './run.ts'

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
/** Answers the request of a known caller on a known route, in the order of the conventions. */
export async function dispatch(route: Route, request: ApiRequest, deps: ExecutionDeps, check: AnswerCheck): Promise<HttpAnswer> {
  permit(route.description, request.owner)
  const input = await readInput(route.description, request, deps.secrets)
  const { requestId, owner } = request
  return run(route, { requestId, owner, gone: goneWith(request.request) }, input, { deps, check })
}

async function readInput(
  description: OperationDescription,
  { request, path, parameters, search, onBody }: ApiRequest,
  secrets: Secrets,
): Promise<RequestInput> {
  const body = description.body ? await readBody(request, description.body.limit) : undefined
  onBody(body)
  const dryRun = readDryRun(description, request.headers['dry-run'])
  const key = description.idempotent && !dryRun ? idempotencyKey(request.headers['idempotency-key'] as string | undefined) : undefined
  const { values: query, faults } = parseQuery(search, description.query)
  // Validation fills in defaults, so the hash comes before it: a repeat is the same request only when the caller sends the same.
  const repeat = key === undefined ? undefined : { key, hash: storedHash(secrets, requestHash(path, query, body)) }
  return { parameters, query, body, faults, repeat, dryRun }
}

/** Of the connection of a request. */
export const goneWith = ({ socket }: IncomingMessage): Gone => ({
  isGone: () => socket.destroyed,
  async watched(work) {
    const gone = new AbortController()
    const end = () => gone.abort(new Problem('upstream_timeout', 'nobody waits for the answer any more'))
    socket.once('close', end)
    try {
      return await work(gone.signal)
    } finally {
      socket.off('close', end)
    }
  },
})
