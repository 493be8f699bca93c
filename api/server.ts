import Koa from 'koa'
import type { Logger } from 'pino'
import type { KeyPrincipal } from '../domain/operators/principal.ts'
import type { Pool } from '../store/connect.ts'
import { isTracing } from '../store/tracing.ts'
import { addressLimit } from './address-limit.ts'
import { answerRequest } from './answer.ts'
import type { AnswerCheck } from './answered.ts'
import { authenticator } from './authenticate.ts'
import { compressed } from './compress.ts'
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
import type { Route } from './operation.ts'
import { type OperationalDeps, operationalRoutes } from './operational.ts'
import { type OperatorDeps, operatorRoutes } from './operator.ts'
import { principals } from './principal.ts'
import { recordRefusedRequest } from './purchase-attempts.ts'
import { allowanceHeaders, type KeyLimits, type RateLimit, rateLimiter } from './rate-limit.ts'
import { logFailure } from './refused-attempts.ts'
import { router } from './router.ts'
import { routes } from './routes.ts'
import type { ExecutionDeps } from './run.ts'
import { sandboxState } from './sandbox-layer.ts'
import { type SandboxStates, sandboxStates } from './sandbox-state.ts'
import { serveSdk } from './sdk/serve.ts'
import { webTokens } from './sdk/web-tokens.ts'
import { type ListenAddress, type Listening, serveApp } from './serve-app.ts'
import type { PageDeps } from './sign-in/page-deps.ts'
import { signInPages } from './sign-in/routes.ts'
import { type NotificationDeps, storeNotifications } from './stores/notifications.ts'
import { traceRequest } from './trace-request.ts'
import { serveV3 } from './v3/serve.ts'
import { writeProblem } from './write-problem.ts'

export type ServerDeps = ExecutionDeps &
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
    compressed,
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
    async (ctx: Context) => {
      await answerRequest(deps, ctx)
      ctx.state.isCompressible = isPlainList(ctx)
    },
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
      writeProblem(ctx, problem)
    }
  }

const API = /^\/v4(\/|$)/

const LIST = '{"object":"list"'

/** A list without fields that are secrets. */
const isPlainList = ({ method, body, state: { match } }: Context): boolean =>
  method === 'GET' &&
  match.is === 'found' &&
  (match.route as Route).description.secrets.length === 0 &&
  typeof body === 'string' &&
  body.startsWith(LIST)

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

/** Serves the API. */
export async function listen(deps: ServerDeps, address: ListenAddress): Promise<Listening> {
  const live = liveHub(deps)
  const { close, ...server } = await serveApp(application(deps, live).callback(), address, () => deps.publicUrl)
  const closeAll = async () => {
    // A stream has no end of its own, and a server waits for its requests.
    await live.close()
    await close()
  }
  return { ...server, close: closeAll }
}
