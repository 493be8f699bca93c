import type { Logger } from 'pino'
import { type AppUser, findAppUser, noteReportedTraits, type ReportedTraits } from '../../domain/audience/customers/app-user.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { Detail } from '../../domain/kernel/refusal.ts'
import type { KeyOwner } from '../../domain/projects/keys.ts'
import { createNamedUser } from '../../domain/purchases/claim-named.ts'
import { isReportConflict } from '../../domain/purchases/record-reports.ts'
import { details } from '../../schemas/details.ts'
import type { OperationDescription } from '../../schemas/generated/sdk/operations.ts'
import { transaction } from '../../store/transaction.ts'
import type { AnswerCheck } from '../answered.ts'
import type { AppRequest } from '../dispatch.ts'
import type { ApiDeps } from '../operation.ts'
import { readBody } from '../read-body.ts'
import type { StatementTurn } from '../request-turns.ts'
import { environmentsOf } from '../v3/operation.ts'
import { textOf, userInHeader } from '../v3/sdk-headers.ts'
import { withoutNulls } from '../v3/without-nulls.ts'
import { SdkProblem } from './errors.ts'
import type { CheckedReceipts, SdkOperation } from './operation.ts'
import { platformOfCall, reportedTraits } from './reported-traits.ts'

/** `checkedReceipts`: of this process. */
export type SdkDeps = ApiDeps & { log: Logger; checkedReceipts: CheckedReceipts }
export type SdkRoute = { description: OperationDescription; operation: SdkOperation }

type Input = { path: Record<string, string>; query: Record<string, unknown>; body: unknown }

/** Answers the request of a known caller on a known route: body, shape, user, platform, and then the operation. Returns the JSON of the answer. */
export async function dispatchSdk(
  { description, operation }: SdkRoute,
  request: AppRequest & { onUser: (id: unknown) => void },
  deps: SdkDeps,
  check: AnswerCheck,
): Promise<{ status: number; body: string }> {
  // Known also where the body cannot be read.
  request.onUser(userInHeader(request.request.headers))
  const body = description.body ? (withoutNulls(await readBody(request.request, description.body.limit)) ?? {}) : undefined
  request.onBody(body)
  const input = { path: request.parameters, query: {}, body }
  if (body !== undefined) request.onUser(operation.userOf(input as never))
  validate(description, input)
  const answer = await execute(operation, request, input, deps)
  check(description, description.status, answer)
  return { status: description.status, body: JSON.stringify(answer) }
}

/** A wrong purchase has a code of its own. */
function validate({ validate }: OperationDescription, { path, body }: Input): void {
  const faults: Detail[] = []
  const collect = (part: 'path' | 'body', value: unknown) => {
    const validator = validate[part]
    if (validator && !validator(value)) faults.push(...details(validator.errors, part, value))
  }
  collect('path', path)
  if (body !== undefined) collect('body', body)
  if (faults.length === 0) return
  const message = faults
    .map(({ field, message }) => `${field} ${message}`)
    .join('; ')
    .slice(0, 1000)
  throw new SdkProblem(faults.every(({ field }) => field === 'purchase') ? 'wrongPurchase' : 'malformed', message)
}

/** As v3 takes it. */
const USER_ID = /^(?!\.{1,2}$)[a-zA-Z0-9._-]{1,256}$/

function namedUser(operation: SdkOperation, input: Input, request: AppRequest): string {
  const named = operation.userOf(input as never)
  const id = named === undefined || named === '' ? userInHeader(request.request.headers) : named
  if (id === undefined) throw new SdkProblem('noUserId', 'the request names no user')
  if (typeof id !== 'string' || !USER_ID.test(id))
    throw new SdkProblem('wrongUserId', 'the id of the user has another form than 1 to 256 characters of [a-zA-Z0-9._-]')
  return id
}

async function execute(operation: SdkOperation, request: AppRequest, input: Input, deps: SdkDeps): Promise<unknown> {
  const { owner, request: incoming } = request
  const id = namedUser(operation, input, request)
  const reported = reportedTraits(incoming.headers, input.body)
  const inTurn: StatementTurn = work => deps.turns(owner.environment, false, () => work(deps.pool))
  const platform = platformOfCall(incoming.headers, reported)
  if (operation.creates && operation.needsPlatform && !platform)
    throw new SdkProblem('unknownPlatform', 'neither the header Platform nor the device names a platform of the SDKs')
  const user = await inTurn(() => userOf(operation, deps, owner, id, reported))
  const scope = scopeOf(operation, request, user)
  request.onEnvironment(scope.environmentKind)
  const call = {
    ...input,
    owner,
    user,
    reported,
    trigger: textOf(incoming.headers, 'trigger'),
    deps,
    log: deps.log,
    checkedReceipts: deps.checkedReceipts,
    db: deps.pool,
    inTurn,
    ...scope,
  }
  return operation.handle({ ...call, platform } as never)
}

/** The user of the request. It is created if the operation allows that; the traits that the app sends are stored with the user. */
async function userOf({ creates }: SdkOperation, deps: ApiDeps, owner: KeyOwner, id: string, reported: ReportedTraits): Promise<AppUser> {
  const environments = [owner.environment, owner.otherEnvironment]
  let user = await findAppUser(deps.listing, environments, id)
  if (!user) {
    if (!creates) throw new SdkProblem('notFound', 'user not found')
    // Of concurrent launches one creates the user, and the others find it.
    const chosen = { project: owner.project, environment: owner.environment, among: environments, id }
    await transaction(deps.pool, tx => createNamedUser(tx, chosen), isReportConflict)
    user = await findAppUser(deps.pool, environments, id)
    if (!user) throw new SdkProblem('notFound', 'user not found')
  }
  await noteReportedTraits(deps.pool, user, reported)
  return user
}

/** An operation acts in the environment of its user. */
function scopeOf({ id }: SdkOperation, { owner, requestId }: AppRequest, { environment }: AppUser) {
  const environmentKind: EnvironmentKind = environment === environmentsOf(owner).production ? 'production' : 'sandbox'
  const actor = { kind: owner.kind === 'secret' ? ('secret_key' as const) : ('project_key' as const), id: owner.lastFour }
  return { environment, environmentKind, trail: { project: owner.project, environment, actor, operation: id, requestId } }
}
