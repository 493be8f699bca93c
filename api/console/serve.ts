import type { Readable } from 'node:stream'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import type { SignedIn } from '../../domain/operators/session.ts'
import { span } from '../../store/tracing.ts'
import { answerRequest, foundOrRefused, json } from '../answer.ts'
import type { Context, Layer } from '../context.ts'
import { Problem } from '../errors.ts'
import { allowanceHeaders, rateLimiter } from '../rate-limit.ts'
import { router } from '../router.ts'
import { routes } from '../routes.ts'
import { sandboxState } from '../sandbox-layer.ts'
import type { SandboxStates } from '../sandbox-state.ts'
import { setCookie, signedIn } from '../sign-in/session.ts'
import { assertRecent } from './again.ts'
import type { Built } from './built.ts'
import type { ConsoleDeps } from './deps.ts'
import { dispatchConsole } from './dispatch.ts'
import { assertFromConsole } from './guard.ts'
import type { LiveHub } from './live/hub.ts'
import type { ConsoleRoute } from './operation.ts'
import { sessionOwnerAt } from './owner.ts'
import { consoleRoutes } from './routes.ts'

const API = '/console/api/'
/** An operation of v4, in an environment of a project. */
const V4 = /^\/console\/api\/([1-9]\d{0,9})\/(production|sandbox)(\/v4(?:\/.*)?)$/

/** Of a session, in one process. A page asks for some things at once. */
export const SESSION_RATE = { perSecond: 50, burst: 100 }
const MOST_SESSIONS = 10_000

/** No other site frames, embeds or keeps an answer. */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
}

type Parts = { stateOf: SandboxStates; built: () => Promise<Built | null>; live: LiveHub }

/** What the pages of the console ask, with the cookie of a session: their own operations, and all of v4 with the role of the operator. */
export function consoleApi(deps: ConsoleDeps, { stateOf, built, live }: Parts): Layer {
  const build = async () => (await built())?.stamp || null
  const take = rateLimiter(deps.sessionRateLimit, undefined, MOST_SESSIONS)
  const findV4 = router(routes)
  const findOwn = router(consoleRoutes)
  const inSandbox = sandboxState(stateOf)

  async function operate(ctx: Context, who: SignedIn, [, project, kind, path]: RegExpExecArray): Promise<void> {
    ctx.state.owner = await sessionOwnerAt(deps.checks, who, Number(project), kind as EnvironmentKind)
    // The address of the API: its router reads it, and a repeated request is the same whichever way it comes.
    ctx.path = path!
    await findV4(ctx, () =>
      inSandbox(ctx, () =>
        answerRequest(deps, ctx, ({ description }, body) => {
          if (!ctx.state.dryRun) assertRecent(description.id, body, who)
        }),
      ),
    )
  }

  async function answerOwn(ctx: Context, who: SignedIn): Promise<void> {
    await findOwn(ctx, async () => {
      const { route, parameters } = foundOrRefused<ConsoleRoute>(ctx.state.match)
      ctx.state.operation = route.description.id
      const { pool, checks, readiness, dataDir } = deps
      const removeCookie = () => setCookie(deps, ctx, null)
      let streamed: Readable | undefined
      const stream = (readable: Readable) => {
        streamed = readable
      }
      const scope = { who, pool, checks, build, removeCookie, live, stream, readiness, dataDir }
      const body = await span(route.description.id, {}, () => dispatchConsole(route, ctx, parameters, scope, deps))
      ctx.status = route.description.status
      if (streamed) sendStream(ctx, streamed)
      else if (body === null) ctx.body = null
      else json(ctx, body)
    })
  }

  return async (ctx, next) => {
    if (!ctx.path.startsWith(API)) return next()
    ctx.set(HEADERS)
    assertFromConsole(ctx, deps.publicUrl)
    const who = await signedIn(deps, ctx)
    if (!who) throw new Problem('control_unauthorized', 'you are not signed in, or your session has ended')
    const allowance = take(who.session, 1)
    if (allowance) ctx.set(allowanceHeaders(allowance))
    const inV4 = V4.exec(ctx.path)
    await (inV4 ? operate(ctx, who, inV4) : answerOwn(ctx, who))
  }
}

function sendStream(ctx: Context, stream: Readable): void {
  ctx.type = 'text/event-stream; charset=utf-8'
  // nginx would collect it.
  ctx.set('X-Accel-Buffering', 'no')
  ctx.body = stream
}
