import { type AppUser, findAppUser, noteReportedTraits, type ReportedTraits } from '../../domain/audience/customers/app-user.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { Detail } from '../../domain/kernel/refusal.ts'
import type { KeyOwner } from '../../domain/projects/keys.ts'
import { details } from '../../schemas/details.ts'
import { storable } from '../../schemas/formats.ts'
import type { OperationDescription } from '../../schemas/generated/v3/operations.ts'
import type { AnswerCheck } from '../answered.ts'
import type { AppRequest } from '../dispatch.ts'
import type { ApiDeps } from '../operation.ts'
import { parseQuery } from '../query.ts'
import { readBody } from '../read-body.ts'
import type { StatementTurn } from '../request-turns.ts'
import { invalidV3, userNotFound, V3Problem } from './errors.ts'
import { environmentsOf, type V3Operation } from './operation.ts'
import { traitsInHeaders, userInHeader } from './sdk-headers.ts'
import { withoutNulls } from './without-nulls.ts'

export type V3Route = { description: OperationDescription; operation: V3Operation }

type Input = { path: Record<string, string>; query: Record<string, unknown>; body: unknown; faults: Detail[] }

/** Answers the request of a known caller on a known route: body, shape, user, and then the operation. Returns the JSON of the answer. */
export async function dispatchV3(
  { description, operation }: V3Route,
  request: AppRequest,
  deps: ApiDeps,
  check: AnswerCheck,
): Promise<{ status: number; body: string }> {
  if (description.auth === 'secret' && request.owner.kind !== 'secret')
    throw new V3Problem('control_forbidden', 'Authorization error: secret key required')
  const input = await readInput(description, request)
  validate(description, input)
  const checked = operation.acts === 'on user, in turns' ? operation.check(input as never) : undefined
  const body = await execute(operation, request, input, checked, deps)
  check(description, description.status, body)
  return { status: description.status, body: JSON.stringify(body) }
}

async function readInput(description: OperationDescription, { request, parameters, search, onBody }: AppRequest): Promise<Input> {
  const body = description.body ? (withoutNulls(await readBody(request, description.body.limit)) ?? {}) : undefined
  onBody(body)
  const { values: query, faults } = parseQuery(search, description.query)
  const known = new Set(description.query.map(({ name }) => name))
  return { path: parameters, query, body, faults: faults.filter(({ field }) => known.has(field)) }
}

/** Refuses with all faults of path, query and body at once. */
function validate({ validate }: OperationDescription, { path, query, body, faults }: Input): void {
  const all = [...faults]
  const collect = (part: 'path' | 'query' | 'body', value: unknown) => {
    const validator = validate[part]
    if (validator && !validator(value)) all.push(...details(validator.errors, part, value))
  }
  collect('path', path)
  collect('query', query)
  if (body !== undefined) collect('body', body)
  if (all.length > 0) throw invalidV3(all)
}

/** The id of the user whom path or query names. In the paths of users themselves it is called `id`. */
const namedUser = ({ path, query }: Input): string | undefined => path.user_id ?? path.id ?? (query.user_id as string | undefined)

async function execute(operation: V3Operation, request: AppRequest, input: Input, checked: unknown, deps: ApiDeps): Promise<unknown> {
  const { owner, request: incoming } = request
  const reported = traitsInHeaders(incoming.headers)
  const inTurn: StatementTurn = work => deps.turns(owner.environment, false, () => work(deps.pool))
  const { path, query, body } = input
  const call = (user: AppUser | undefined) => {
    const scope = scopeOf(operation, request, user)
    request.onEnvironment(scope.environmentKind)
    return { path, query, body, owner, reported, deps, db: deps.pool, ...scope }
  }

  if (operation.acts === 'at key')
    return inTurn(async () => {
      await seen(deps, owner, namedUser(input) ?? userInHeader(incoming.headers), reported)
      return operation.handle(call(undefined) as never)
    })
  const find = async () => {
    const user = await seen(deps, owner, namedUser(input), reported)
    if (!user) throw userNotFound()
    return user
  }
  if (operation.acts === 'on user')
    return inTurn(async () => {
      const user = await find()
      return operation.handle({ ...call(user), user } as never)
    })
  const user = await inTurn(find)
  return operation.handle({ ...call(user), user, inTurn, checked } as never)
}

/**
 * The user of a request, if there is one; the traits in the headers are stored with the user. Every request executes this statement, so it
 * is planned once.
 */
async function seen(
  { pool, listing }: ApiDeps,
  owner: KeyOwner,
  id: string | undefined,
  reported: ReportedTraits,
): Promise<AppUser | undefined> {
  if (id === undefined || id === '' || !storable(id)) return undefined
  const user = await findAppUser(listing, [owner.environment, owner.otherEnvironment], id)
  if (user) await noteReportedTraits(pool, user, reported)
  return user
}

/** An operation on a user acts in the environment of the user, any other in that of the key. */
function scopeOf({ id }: V3Operation, { owner, requestId }: AppRequest, user: AppUser | undefined) {
  const environment = user?.environment ?? owner.environment
  const environmentKind: EnvironmentKind = environment === environmentsOf(owner).production ? 'production' : 'sandbox'
  const actor = { kind: owner.kind === 'secret' ? ('secret_key' as const) : ('project_key' as const), id: owner.lastFour }
  return { environment, environmentKind, trail: { project: owner.project, environment, actor, operation: id, requestId } }
}
