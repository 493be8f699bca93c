import { readFile } from 'node:fs/promises'
import type Koa from 'koa'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { ChartDrawing } from '../domain/reporting/reports/chart-drawing.ts'
import type { Pool } from '../store/connect.ts'
import type { FileStorage } from '../store/files/storage.ts'
import { chartPictures } from './chart-picture.ts'
import type { ConsoleSource } from './console/source.ts'
import { documentation } from './documentation.ts'
import { downloads } from './download.ts'
import { type Handler, type HealthDeps, healthHandlers } from './health.ts'
import { keptAnswer } from './kept-answer.ts'

export type OperationalDeps = HealthDeps & {
  pool: Pool
  secrets: Secrets
  storage: FileStorage
  console: ConsoleSource | null
  /** Draws the charts of reports. */
  drawing: ChartDrawing
}

const DESCRIPTION = new URL('../schemas/generated/openapi.json', import.meta.url)

/** Answers the addresses that are not operations and need no key. All other requests go on to the API. */
export function operationalRoutes(deps: OperationalDeps): Koa.Middleware {
  const download = downloads(deps)
  const picture = chartPictures(deps)
  const pages = documentation(() => (deps.console && deps.console.state() !== 'missing' ? '/console' : '/docs'))
  const fixed: Record<string, Handler> = {
    ...healthHandlers(deps),
    '/v4/openapi.json': keptAnswer('application/json; charset=utf-8', readFile(DESCRIPTION)),
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
