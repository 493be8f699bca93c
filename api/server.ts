import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import type { KeyOwner } from '../domain/projects/keys.ts'
import { authenticator } from './authenticate.ts'
import { promptClose } from './close.ts'
import { discardBody } from './discard-body.ts'
import { type AnswerCheck, dispatch } from './dispatch.ts'
import { invalidData, Problem, problemOf } from './errors.ts'
import type { HttpMetrics } from './metrics.ts'
import type { ApiDeps } from './operation.ts'
import { type OperationalDeps, operationalRoutes } from './operational.ts'
import { type OperatorDeps, operatorRoutes } from './operator.ts'
import { allowanceHeaders, type RateLimit, rateLimiter } from './rate-limit.ts'
import { router } from './router.ts'
import { routes } from './routes.ts'

export type ServerDeps = ApiDeps &
  OperationalDeps &
  OperatorDeps & {
    log: Logger
    metrics: HttpMetrics
    rateLimit: RateLimit
    projectRateLimit: RateLimit
    checkAnswer: AnswerCheck
  }

type State = { requestId: string; operation: string; owner?: KeyOwner }
type Context = Koa.ParameterizedContext<State>
type App = Koa<State, { state: State }>

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/
const API = /^\/v[34](\/|$)/

/** What a request meets, in order. */
export function application(deps: ServerDeps): App {
  const app: App = new Koa()
  app.silent = true
  for (const layer of [observe(deps), failures(deps), operationalRoutes(deps), operatorRoutes(deps), api(deps)])
    app.use(layer as Koa.Middleware<State, { state: State }>)
  return app
}

/** Request id, one log line, two metrics. */
const observe =
  ({ log, metrics }: ServerDeps) =>
  async (ctx: Context, next: Koa.Next) => {
    const began = performance.now()
    const given = ctx.req.headers['x-request-id'] as string | undefined
    ctx.state.requestId = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID()
    ctx.state.operation = 'none'
    ctx.set('X-Request-Id', ctx.state.requestId)
    ctx.set('Cache-Control', 'no-cache')
    await next()
    if (!(await discardBody(ctx.req))) ctx.set('Connection', 'close')
    const ms = performance.now() - began
    const { operation, requestId, owner } = ctx.state
    metrics.answered(operation, ctx.status, ms / 1000)
    log.info(
      {
        id: requestId,
        method: ctx.method,
        path: ctx.path,
        status: ctx.status,
        ms: Math.round(ms * 10) / 10,
        operation,
        project: owner?.project,
      },
      'request',
    )
  }

/** The only catch: whatever was thrown becomes the one error shape. */
const failures =
  ({ log }: ServerDeps) =>
  async (ctx: Context, next: Koa.Next) => {
    try {
      await next()
    } catch (error) {
      const problem = problemOf(error)
      if (problem.status >= 500) log.error({ id: ctx.state.requestId, operation: ctx.state.operation, err: error }, 'request failed')
      ctx.status = problem.status
      ctx.set(problem.headers)
      json(ctx, JSON.stringify(problem.body))
    }
  }

function json(ctx: Context, body: string): void {
  ctx.type = 'application/json; charset=utf-8'
  ctx.body = body
}

function api(deps: ServerDeps) {
  const authenticate = authenticator(deps.pool)
  const find = router(routes)
  const take = { secret: rateLimiter(deps.rateLimit), project: rateLimiter(deps.projectRateLimit) }

  return async (ctx: Context) => {
    if (!API.test(ctx.path)) throw new Problem('invalid_request', 'no such address', { status: 404 })
    const owner = await authenticate(ctx.req.headers.authorization)
    ctx.state.owner = owner
    const found = find(ctx.method, ctx.path)
    // An unknown route takes no token, but tells what is left like every authenticated answer.
    const allowance = take[owner.kind](`${owner.keyId}:${owner.environmentKind}`, found.is === 'found' ? 1 : 0)
    if (allowance) ctx.set(allowanceHeaders(allowance))
    if (found.is === 'malformed') throw invalidData([{ field: 'path', message: 'is not valid percent-encoded UTF-8' }])
    if (found.is === 'none') throw new Problem('invalid_request', 'no such route', { status: 404 })
    if (found.is === 'method')
      throw new Problem('invalid_request', 'the route does not know this method', { status: 405, headers: { Allow: found.allow } })
    ctx.state.operation = found.route.description.id
    const { status, headers, body } = await dispatch(
      found.route,
      { request: ctx.req, requestId: ctx.state.requestId, path: ctx.path, parameters: found.parameters, search: ctx.querystring, owner },
      deps,
      deps.checkAnswer,
    )
    ctx.status = status
    ctx.set(headers)
    if (body === null) ctx.body = null
    else json(ctx, body)
  }
}

const HEADER_BYTES = 16 * 1024

/** Node's own refusals (malformed or oversized headers) in the shape of every other error. */
function refuseRaw(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
    const tooLarge = error.code === 'HPE_HEADER_OVERFLOW'
    const message = tooLarge ? `request line and headers are larger than ${HEADER_BYTES} bytes` : 'this is no HTTP request'
    const body = JSON.stringify({ error: { type: 'request', code: 'invalid_request', message } })
    const status = tooLarge ? '413 Content Too Large' : '400 Bad Request'
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nCache-Control: no-cache\r\nX-Request-Id: ${randomUUID()}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    )
  })
}

export type Listening = { port: number; close(): Promise<void> }

/** Serves the API. `close` ends idle connections at once and lets requests under way finish. */
export async function listen(deps: ServerDeps, port: number, host?: string): Promise<Listening> {
  const handle = application(deps).callback()
  const server = createServer({ maxHeaderSize: HEADER_BYTES, requestTimeout: 120_000, keepAliveTimeout: 65_000 }, handle)
  refuseRaw(server)
  const close = promptClose(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, ...(host && { host }) }, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close,
  }
}
