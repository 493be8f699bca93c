import { readFile } from 'node:fs/promises'
import type Koa from 'koa'
import { isDegraded } from '../domain/oversight/reconciliation/drift.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { ChartDrawing } from '../domain/reporting/reports/chart-drawing.ts'
import type { Pool } from '../store/connect.ts'
import type { FileStorage } from '../store/files/storage.ts'
import { chartPictures } from './chart-picture.ts'
import type { ConsoleSource } from './console/source.ts'
import { documentation } from './documentation.ts'
import { downloads } from './download.ts'
import { Problem } from './errors.ts'
import { type FiguresAccess, opensFigures } from './figures-access.ts'
import type { Metrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'
import { readinessFigures } from './readiness-figures.ts'

export type OperationalDeps = {
  pool: Pool
  secrets: Secrets
  storage: FileStorage
  metrics: Pick<Metrics, 'text' | 'contentType'>
  figures: FiguresAccess
  readiness: Readiness
  console: ConsoleSource | null
  /** Draws the charts of reports. */
  drawing: ChartDrawing
}

const DESCRIPTION = new URL('../schemas/generated/openapi.json', import.meta.url)

type Handler = (ctx: Koa.Context) => Promise<void>

/** Answers the addresses that are not operations and need no key. All other requests go on to the API. */
export function operationalRoutes(deps: OperationalDeps): Koa.Middleware {
  const { metrics, readiness, figures: access } = deps
  const isOpen = (ctx: Koa.Context) => opensFigures(access, ctx.get('Authorization'))
  const description = readFile(DESCRIPTION, 'utf8')
  const download = downloads(deps)
  const picture = chartPictures(deps)
  const pages = documentation(() => (deps.console && deps.console.state() !== 'missing' ? '/console' : '/docs'))

  const fixed: Record<string, Handler> = {
    '/healthz': async ctx => {
      ctx.body = { status: 'ok' }
    },
    '/readyz': async ctx => {
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
    '/v4/openapi.json': async ctx => {
      ctx.type = 'application/json; charset=utf-8'
      ctx.body = await description
    },
  }
  return async (ctx, next) => {
    const isRead = ctx.method === 'GET' || ctx.method === 'HEAD'
    const handler = Object.hasOwn(fixed, ctx.path) ? fixed[ctx.path] : pages(ctx)
    if (isRead && handler) {
      ctx.state.route = ctx.path
      await handler(ctx)
    } else if (isRead && ctx.path.startsWith('/files/')) {
      ctx.state.route = '/files/{file}'
      if (!(await picture(ctx))) await download(ctx)
    } else await next()
  }
}
