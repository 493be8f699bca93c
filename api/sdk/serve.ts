import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { span } from '../../store/tracing.ts'
import type { AnswerCheck } from '../answered.ts'
import { answerApp } from '../app-answer.ts'
import { type AppGate, acceptApp, identifyApp } from '../app-gate.ts'
import type { AnyRoute, Layer } from '../context.ts'
import type { ApiDeps } from '../operation.ts'
import { noteAttempt, noteClaimant, noteEnvironment } from '../refused-attempts.ts'
import { router } from '../router.ts'
import { dispatchSdk, type SdkRoute } from './dispatch.ts'
import { isSdkPath, SdkProblem, sdkErrorBody, sdkProblemOf } from './errors.ts'
import { sdkRoutes } from './routes.ts'

type ServeDeps = ApiDeps & { log: Logger; checkAnswer: AnswerCheck }

const DESCRIPTION_PATH = '/v1/openapi.json'
const DESCRIPTION = new URL('../../schemas/generated/sdk/openapi.json', import.meta.url)

/** Answers everything below `/v1` and `/v2`, and `/attribution`, including errors, in the shapes that the mobile SDKs read. */
export function serveSdk(deps: ServeDeps, gate: AppGate): Layer {
  const find = router(sdkRoutes)
  const withMemory = { ...deps, checkedReceipts: new Map<string, number>() }
  const protocol = {
    descriptionPath: DESCRIPTION_PATH,
    description: readFile(DESCRIPTION, 'utf8'),
    problemOf: sdkProblemOf,
    bodyOf: sdkErrorBody,
  }
  const answer: Layer = async ctx => {
    const owner = await identifyApp(ctx, gate)
    const route = routeOf(ctx.state.match)
    ctx.state.operation = route.description.id
    if (!(await acceptApp(ctx, gate, owner)))
      throw new SdkProblem('tooMany', 'the sandbox is being emptied', { headers: { 'Retry-After': '1' } })
    const { match, requestId } = ctx.state
    const parameters = match.is === 'found' ? match.parameters : {}
    const incoming = { request: ctx.req, requestId, path: ctx.path, parameters, search: ctx.querystring, owner }
    const noted = { ...incoming, onBody: noteAttempt(ctx), onEnvironment: noteEnvironment(ctx), onUser: noteClaimant(ctx) }
    const { status, body } = await span(route.description.id, {}, () => dispatchSdk(route, noted, withMemory, deps.checkAnswer))
    ctx.status = status
    ctx.body = body
  }
  return async (ctx, next) => {
    if (!isSdkPath(ctx.path)) return next()
    await answerApp(ctx, deps, protocol, () => find(ctx, () => answer(ctx, next)))
  }
}

function routeOf(match: Parameters<Layer>[0]['state']['match']): SdkRoute {
  switch (match.is) {
    case 'found':
      return asSdk(match.route)
    case 'malformed':
      throw new SdkProblem('malformed', 'path is not valid percent-encoded UTF-8')
    case 'none':
      throw new SdkProblem('notFound', 'no such route')
    case 'method':
      throw new SdkProblem('malformed', 'the route does not know this method', { status: 405, headers: { Allow: match.allow } })
    default:
      return match satisfies never
  }
}

/** The router of the SDKs has their routes only. */
const asSdk = (route: AnyRoute): SdkRoute => route as SdkRoute
