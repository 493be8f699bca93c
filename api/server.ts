import { createServer } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import type { KeyPrincipal } from '../domain/operators/principal.ts'
import type { Pool } from '../store/connect.ts'
import { isTracing } from '../store/tracing.ts'
import { addressLimit } from './address-limit.ts'
import { answerRequest, json } from './answer.ts'
import { authenticator } from './authenticate.ts'
import { promptClose } from './close.ts'
import { builtPages } from './console/built.ts'
import { type LiveHub, liveHub } from './console/live/hub.ts'
import { consolePages } from './console/pages.ts'
import { consoleApi } from './console/serve.ts'
import type { ConsoleSource } from './console/source.ts'
import type { Context, Layer, RequestState } from './context.ts'
import { Problem, problemOf } from './errors.ts'
import type { McpDeps } from './mcp/deps.ts'
import { serveMcp } from './mcp/serve.ts'
import type { HttpMetrics, StoreMetrics } from './metrics.ts'
import type { OAuthDeps } from './oauth/deps.ts'
import { oauth } from './oauth/routes.ts'
import { observe, requestId } from './observe.ts'
import type { ApiDeps } from './operation.ts'
import { type OperationalDeps, operationalRoutes } from './operational.ts'
import { type OperatorDeps, operatorRoutes } from './operator.ts'
import { principals } from './principal.ts'
import { recordRefusedRequest } from './purchase-attempts.ts'
import { allowanceHeaders, type KeyLimits, type RateLimit, rateLimiter } from './rate-limit.ts'
import { HEADER_BYTES, refuseRaw } from './refuse-raw.ts'
import { logFailure } from './refused-attempts.ts'
import { router } from './router.ts'
import { routes } from './routes.ts'
import type { AnswerCheck } from './run.ts'
import { sandboxState } from './sandbox-layer.ts'
import { type SandboxStates, sandboxStates } from './sandbox-state.ts'
import { serveSdk } from './sdk/serve.ts'
import { webTokens } from './sdk/web-tokens.ts'
import type { PageDeps } from './sign-in/page-deps.ts'
import { signInPages } from './sign-in/routes.ts'
import { type NotificationDeps, storeNotifications } from './stores/notifications.ts'
import { traceRequest } from './trace-request.ts'
import { serveV3 } from './v3/serve.ts'

export type ServerDeps = ApiDeps &
  OperationalDeps &
  OperatorDeps &
  Pick<NotificationDeps, 'stores'> &
  Pick<McpDeps, 'mcpOrigins'> &
  Pick<OAuthDeps, 'oauthRegistration' | 'clientDocuments'> &
  Pick<PageDeps, 'provider'> & {
    log: Logger
    /** Connections for sessions, which no statement of a tenant uses. */
    checks: Pool
    /** The same for keys and tokens. They plan a statement once (`plansOnce`). */
    callers: Pool
    /** Where the files of this process are. */
    dataDir: string
    /** For connections that listen. */
    databaseUrl: string
    metrics: HttpMetrics & StoreMetrics
    rateLimit: RateLimit
    projectRateLimit: RateLimit
    addressRateLimit: RateLimit
    sessionRateLimit: RateLimit
    checkAnswer: AnswerCheck
    /** How many proxies stand before the service. */
    trustedProxies: number
  }

type App = Koa<RequestState, { state: RequestState }>

/** The layers that a request passes, in order. `failures` stands inside `observe`, so the log shows the status of the answer. */
function application(deps: ServerDeps, live: LiveHub): App {
  const app: App = new Koa()
  app.silent = true
  app.proxy = deps.trustedProxies > 0
  app.maxIpsCount = deps.trustedProxies
  const ownerOf = authenticator(deps.callers)
  const stateOf = sandboxStates(deps.callers)
  // Of a key and not of a version of the API.
  const ofSecret = () => rateLimiter(deps.rateLimit)
  const take = { secret: ofSecret(), project: rateLimiter(deps.projectRateLimit), named: ofSecret(), grant: ofSecret() }
  const gate = { ownerOf, keys: take, addresses: addressLimit(deps.addressRateLimit), stateOf }
  const layers = [
    requestId,
    ...(isTracing() ? [traceRequest] : []),
    observe(deps),
    failures(deps),
    operationalRoutes(deps) as Layer,
    operatorRoutes(deps) as Layer,
    signInPages(deps),
    ...(deps.console ? consoleLayers(deps, stateOf, { source: deps.console, live }) : []),
    oauth(deps),
    storeNotifications(deps),
    serveMcp({ deps, stateOf }),
    serveV3(deps, gate),
    serveSdk(deps, gate),
    apiOnly,
    router(routes),
    authenticate(principals(deps.callers, ownerOf)),
    limitRate(take),
    webTokens,
    sandboxState(stateOf),
    (ctx: Context) => answerRequest(deps, ctx),
  ]
  for (const layer of layers) app.use(layer as Koa.Middleware<RequestState, { state: RequestState }>)
  return app
}

function consoleLayers(deps: ServerDeps, stateOf: SandboxStates, { source, live }: { source: ConsoleSource; live: LiveHub }): Layer[] {
  const built = builtPages(source.folder)
  return [consoleApi(deps, { stateOf, built, live }), consolePages(deps, source, built)]
}

/** The only catch: every thrown error gets the one shape of errors. */
const failures =
  (deps: ServerDeps): Layer =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const problem = problemOf(error)
      const { code, message: reason, details } = problem.body.error
      await recordRefusedRequest(deps, ctx.state, error)
      logFailure(deps.log, ctx.state, error, { status: problem.status, code, reason, details })
      ctx.status = problem.status
      ctx.set(problem.headers)
      json(ctx, JSON.stringify(problem.body))
    }
  }

const FIGURES = new Set(['/healthz', '/readyz', '/metrics'])
const API = /^\/v4(\/|$)/

/** An address outside of the API needs no protection: 404, with or without a key. */
const apiOnly: Layer = async (ctx, next) => {
  if (!API.test(ctx.path)) throw new Problem('invalid_request', 'no such address', { status: 404 })
  await next()
}

function authenticate(principalOf: ReturnType<typeof principals>): Layer {
  return async (ctx, next) => {
    const { match } = ctx.state
    const isFresh = match.is === 'found' && match.route.description.currentKey
    ctx.state.owner = await principalOf(ctx.req.headers.authorization, ctx.ip, isFresh)
    await next()
  }
}

/** A request without a route takes no token. Its answer shows the remaining tokens, like every authenticated answer. */
function limitRate(take: KeyLimits): Layer {
  return async (ctx, next) => {
    const { owner, match } = ctx.state
    const allowance = take[(owner as KeyPrincipal).kind](`${owner!.keyId}:${owner!.environmentKind}`, match.is === 'found' ? 1 : 0)
    if (allowance) ctx.set(allowanceHeaders(allowance))
    await next()
  }
}

export type Listening = { port: number; close(): Promise<void> }

/** Where a server listens; without `host`, on all interfaces. */
type ListenAddress = { port: number; host?: string | undefined }

/** Serves the API. */
export async function listen(deps: ServerDeps, address: ListenAddress): Promise<Listening> {
  const live = liveHub(deps)
  const { port, close } = await serveApp(application(deps, live), address, deps)
  const closeAll = async () => {
    // A stream has no end of its own, and a server waits for its requests.
    await live.close()
    await close()
  }
  return { port, close: closeAll }
}

/** Serves health, readiness and metrics, and nothing else, on a port of their own. */
export const listenForFigures = (deps: ServerDeps, address: ListenAddress): Promise<Listening> => serveApp(figuresOnly(deps), address, deps)

function figuresOnly(deps: ServerDeps): App {
  const app: App = new Koa()
  app.silent = true
  const known: Layer = async (ctx, next) => {
    if (!FIGURES.has(ctx.path)) throw new Problem('invalid_request', 'no such address', { status: 404 })
    await next()
  }
  for (const layer of [requestId, failures(deps), known, operationalRoutes(deps) as Layer, apiOnly])
    app.use(layer as Koa.Middleware<RequestState, { state: RequestState }>)
  return app
}

/** `close` ends idle connections at once and waits for the requests in progress. */
async function serveApp(app: App, { port, host }: ListenAddress, deps: ServerDeps): Promise<Listening> {
  const handle = app.callback()
  const server = createServer({ maxHeaderSize: HEADER_BYTES, requestTimeout: 120_000, keepAliveTimeout: 65_000 }, handle)
  refuseRaw(server, () => deps.publicUrl)
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
