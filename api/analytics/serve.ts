import type { IncomingMessage } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import getRawBody from 'raw-body'
import type { Secrets } from '../../domain/projects/secrets.ts'
import { version } from '../../schemas/version.ts'
import type { AnswerCheck } from '../answered.ts'
import type { Context, RequestState } from '../context.ts'
import { goneWith } from '../dispatch.ts'
import { type ErrorBody, Problem, problemOf } from '../errors.ts'
import { type HealthDeps, healthHandlers } from '../health.ts'
import type { Answered } from '../idempotency.ts'
import { requestId } from '../observe.ts'
import { routes } from '../routes.ts'
import { type ListenAddress, type Listening, serveApp } from '../serve-app.ts'
import { writeProblem } from '../write-problem.ts'
import { computeFigures, type FiguresDeps, type FiguresRequest, type FiguresRoute } from './compute.ts'
import { signature } from './signature.ts'

/** What an API process gets: the answer of the operation, or its refusal, as a caller of the API gets it. */
export type FiguresReply = { answered: Answered } | { refused: { status: number; headers: Record<string, string> } & ErrorBody }

/** A question is what an API process has accepted, so it is no longer than a body there. */
const MOST_BYTES = '1mb'
const PATH = /^\/figures\/(\w+)$/
const SIGNED = ['webhook-id', 'webhook-timestamp', 'webhook-signature']

export type AnalyticsDeps = FiguresDeps & HealthDeps & { secrets: Pick<Secrets, 'sign'>; checkAnswer: AnswerCheck; log: Logger }

/** Serves figures to API processes, and nothing to anybody else. Keys, scopes, limits and the audit log are matters of the API process. */
export function serveAnalytics(deps: AnalyticsDeps, address: ListenAddress): Promise<Listening> {
  const app = new Koa<RequestState, { state: RequestState }>()
  app.silent = true
  const health = healthHandlers(deps)
  const signed = signature(deps.secrets)
  const release = version()
  const figures = new Map(
    routes.flatMap(({ description, operation }) =>
      operation.mode === 'figures' ? [[description.id as string, { description, operation } as FiguresRoute] as const] : [],
    ),
  )

  async function answer(ctx: Koa.Context): Promise<FiguresReply> {
    const route = figures.get(PATH.exec(ctx.path)?.[1] ?? '')
    if (!route || ctx.method !== 'POST') throw new Problem('invalid_request', 'no such address', { status: 404 })
    const request = await accepted(ctx)
    try {
      return { answered: await computeFigures(route, request, deps, { check: deps.checkAnswer, isGone: goneWith(ctx.req).isGone }) }
    } catch (error) {
      const { status, headers, body } = problemOf(error)
      // What has taken its time here would take it again.
      if (status >= 500 && body.error.code !== 'upstream_timeout') throw error
      return { refused: { status, headers, ...body } }
    }
  }

  async function accepted(ctx: Koa.Context): Promise<FiguresRequest> {
    const foreign = new Problem('control_unauthorized', 'this address is for processes of the installation')
    if (!SIGNED.every(name => name in ctx.headers)) throw foreign
    const body = await getRawBody(ctx.req as IncomingMessage, { limit: MOST_BYTES, encoding: 'utf8' }).catch(error => {
      throw error.status ? new Problem('invalid_request', 'the question cannot be read', { status: error.status }) : error
    })
    let question: { version: string; request: FiguresRequest }
    try {
      question = signed.verify(body, ctx.headers as Record<string, string>) as typeof question
    } catch {
      throw foreign
    }
    // Another release may have other formulas and answers.
    if (question.version !== release) throw new Problem('conflict', `this process is of the version ${release}`)
    return question.request
  }

  app.use(requestId as Koa.Middleware<RequestState, { state: RequestState }>)
  app.use(async ctx => {
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
    const handler = isRead && Object.hasOwn(health, ctx.path) ? health[ctx.path] : undefined
    try {
      if (handler) await handler(ctx)
      else ctx.body = await answer(ctx)
    } catch (error) {
      const problem = problemOf(error)
      if (problem.status >= 500) deps.log.warn({ err: error, id: ctx.state.requestId }, 'figures failed')
      writeProblem(ctx as Context, problem)
    }
  })
  return serveApp(app.callback(), address, () => '')
}
