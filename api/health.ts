import type Koa from 'koa'
import { isDegraded } from '../domain/oversight/reconciliation/drift.ts'
import { Problem } from './errors.ts'
import { type FiguresAccess, opensFigures } from './figures-access.ts'
import type { Metrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'
import { readinessFigures } from './readiness-figures.ts'

export type HealthDeps = { metrics: Pick<Metrics, 'text' | 'contentType'>; figures: FiguresAccess; readiness: Readiness }

export type Handler = (ctx: Koa.Context) => Promise<void>

/** What `/healthz`, `/readyz` and `/metrics` answer, in a process of any role. */
export function healthHandlers({ metrics, readiness, figures: access }: HealthDeps): Record<string, Handler> {
  const isOpen = (ctx: Koa.Context) => opensFigures(access, ctx.get('Authorization'))
  return {
    '/healthz': async ctx => {
      ctx.body = { status: 'ok' }
    },
    '/readyz': async ctx => {
      // First, and without the database: a load balancer must learn it with its next question.
      if (readiness.isDraining()) {
        ctx.status = 503
        ctx.body = { status: 'draining' }
        return
      }
      const database = await readiness.database()
      const drift = database === 'unavailable' ? null : await readiness.drift()
      const isOk = database === 'ready' && drift !== null && !isDegraded(drift)
      ctx.status = database === 'unavailable' ? 503 : 200
      ctx.body =
        database === 'unavailable'
          ? { status: database }
          : { status: isOk ? 'ok' : 'degraded', ...(drift && isOpen(ctx) && readinessFigures(drift)) }
    },
    '/metrics': async ctx => {
      if (access === 'closed') throw new Problem('invalid_request', 'no such address', { status: 404 })
      if (!isOpen(ctx))
        throw new Problem('control_unauthorized', 'the token of the metrics is needed', { headers: { 'WWW-Authenticate': 'Bearer' } })
      ctx.type = metrics.contentType
      ctx.body = await metrics.text()
    },
  }
}
