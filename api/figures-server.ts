import Koa from 'koa'
import type { Logger } from 'pino'
import type { Context, Layer, RequestState } from './context.ts'
import { Problem, problemOf } from './errors.ts'
import { type HealthDeps, healthHandlers } from './health.ts'
import { requestId } from './observe.ts'
import { type ListenAddress, type Listening, serveApp } from './serve-app.ts'
import { writeProblem } from './write-problem.ts'

/**
 * Serves health, readiness and metrics, and nothing else, on a port of their own. It loads nothing of the API: a worker that is watched stays
 * as small as one that is not.
 */
export function listenForFigures(deps: HealthDeps & { log: Logger }, address: ListenAddress): Promise<Listening> {
  const app = new Koa<RequestState, { state: RequestState }>()
  app.silent = true
  const handlers = healthHandlers(deps)
  const answer: Layer = async ctx => {
    const handler = Object.hasOwn(handlers, ctx.path) ? handlers[ctx.path] : undefined
    if (!handler || (ctx.method !== 'GET' && ctx.method !== 'HEAD'))
      throw new Problem('invalid_request', 'no such address', { status: 404 })
    await handler(ctx)
  }
  for (const layer of [requestId, failures(deps.log), answer]) app.use(layer as Koa.Middleware<RequestState, { state: RequestState }>)
  return serveApp(app.callback(), address, () => '')
}

const failures =
  (log: Logger): Layer =>
  async (ctx: Context, next) => {
    try {
      await next()
    } catch (error) {
      const problem = problemOf(error)
      if (problem.status >= 500) log.warn({ err: error, id: ctx.state.requestId }, 'a request for figures failed')
      writeProblem(ctx, problem)
    }
  }
