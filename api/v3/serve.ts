import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { span } from '../../store/tracing.ts'
import type { AnswerCheck } from '../answered.ts'
import { answerApp } from '../app-answer.ts'
import { type AppGate, acceptApp, identifyApp } from '../app-gate.ts'
import type { AnyRoute, Layer } from '../context.ts'
import type { ApiDeps } from '../operation.ts'
import { noteAttempt, noteEnvironment } from '../refused-attempts.ts'
import { router } from '../router.ts'
import { dispatchV3, type V3Route } from './dispatch.ts'
import { CORS, invalidV3, isV3Path, V3Problem, v3ErrorBody, v3ProblemOf } from './errors.ts'
import { v3Routes } from './routes.ts'

type V3Deps = ApiDeps & {
  log: Logger
  checkAnswer: AnswerCheck
}

const DESCRIPTION_PATH = '/v3/openapi.json'
const DESCRIPTION = new URL('../../schemas/generated/v3/openapi.json', import.meta.url)
const ALLOWED_HEADERS =
  'Authorization, Content-Type, Accept, Platform, Platform-Version, User-Id, User-Locale, Source, Source-Version, App-Version, Country, Attempt, Trigger'

/** Answers everything below `/v3`, including errors, in the shapes of v3 and with the headers for other origins. */
export function serveV3(deps: V3Deps, gate: AppGate): Layer {
  const find = router(v3Routes, { emptyLast: true })
  const protocol = {
    descriptionPath: DESCRIPTION_PATH,
    description: readFile(DESCRIPTION, 'utf8'),
    problemOf: v3ProblemOf,
    bodyOf: (problem: V3Problem) => v3ErrorBody(problem, deps.publicUrl),
  }
  const answer: Layer = async ctx => {
    const owner = await identifyApp(ctx, gate)
    const route = routeOf(ctx.state.match)
    ctx.state.operation = route.description.id
    // An SDK repeats a request after 429, and gives up after 422.
    if (!(await acceptApp(ctx, gate, owner)))
      throw new V3Problem('rate_limit_exceeded', 'The sandbox is being emptied', { headers: { 'Retry-After': '1' } })
    const { match, requestId } = ctx.state
    const parameters = match.is === 'found' ? match.parameters : {}
    const incoming = { request: ctx.req, requestId, path: ctx.path, parameters, search: ctx.querystring, owner }
    const noted = { ...incoming, onBody: noteAttempt(ctx), onEnvironment: noteEnvironment(ctx) }
    const { status, body } = await span(route.description.id, {}, () => dispatchV3(route, noted, deps, deps.checkAnswer))
    ctx.status = status
    ctx.body = body
  }
  return async (ctx, next) => {
    if (!isV3Path(ctx.path)) return next()
    ctx.set(CORS)
    if (ctx.method === 'OPTIONS') {
      ctx.set({
        'Access-Control-Allow-Methods': 'GET, POST, DELETE, OPTIONS',
        'Access-Control-Allow-Headers': ALLOWED_HEADERS,
        'Access-Control-Max-Age': '86400',
      })
      ctx.status = 204
      return
    }
    await answerApp(ctx, deps, protocol, () => find(ctx, () => answer(ctx, next)))
  }
}

function routeOf(match: Parameters<Layer>[0]['state']['match']): V3Route {
  switch (match.is) {
    case 'found':
      return asV3(match.route)
    case 'malformed':
      throw invalidV3([{ field: 'path', message: 'is not valid percent-encoded UTF-8' }])
    case 'none':
      throw new V3Problem('invalid_request', 'no such route', { status: 404 })
    case 'method':
      throw new V3Problem('invalid_request', 'the route does not know this method', { status: 405, headers: { Allow: match.allow } })
    default:
      return match satisfies never
  }
}

/** The router of v3 has routes of v3 only. */
const asV3 = (route: AnyRoute): V3Route => route as V3Route
