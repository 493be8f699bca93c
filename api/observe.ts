import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Layer } from './context.ts'
import { discardBody } from './discard-body.ts'
import type { HttpMetrics } from './metrics.ts'

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

/** Takes the caller's request id when the id is safe to log, else creates one. */
export const requestId: Layer = async (ctx, next) => {
  const given = ctx.req.headers['x-request-id'] as string | undefined
  ctx.state.requestId = given !== undefined && REQUEST_ID.test(given) ? given : randomUUID()
  ctx.set('X-Request-Id', ctx.state.requestId)
  ctx.set('Cache-Control', 'no-cache')
  await next()
}

/** Writes one log line and two metrics per request, after the answer is known. The line has no path: a path without a route may contain any text. */
export const observe =
  ({ log, metrics }: { log: Logger; metrics: HttpMetrics }): Layer =>
  async (ctx, next) => {
    const began = performance.now()
    ctx.state.operation = 'none'
    await next()
    if (!(await discardBody(ctx.req))) ctx.set('Connection', 'close')
    const ms = performance.now() - began
    const { operation, requestId: id, route, match, owner } = ctx.state
    metrics.answered(operation, ctx.status, ms / 1000)
    log.info(
      {
        id,
        method: ctx.method,
        route: route ?? (match?.is === 'found' ? match.route.description.path : undefined),
        status: ctx.status,
        ms: Math.round(ms * 10) / 10,
        operation,
        project: owner?.project,
        key: typeof owner?.keyId === 'string' ? owner.keyId : undefined,
      },
      'request',
    )
  }
