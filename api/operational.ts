import { readFile } from 'node:fs/promises'
import type Koa from 'koa'
import { type Drift, isDegraded } from '../domain/oversight/reconciliation/drift.ts'
import type { Secrets } from '../domain/projects/secrets.ts'
import type { Pool } from '../store/connect.ts'
import type { FileStorage } from '../store/files/storage.ts'
import type { ConsoleSource } from './console/source.ts'
import { documentation } from './documentation.ts'
import { downloads } from './download.ts'
import { Problem } from './errors.ts'
import { type FiguresAccess, opensFigures } from './figures-access.ts'
import type { Metrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'

export type OperationalDeps = {
  pool: Pool
  secrets: Secrets
  storage: FileStorage
  metrics: Pick<Metrics, 'text' | 'contentType'>
  figures: FiguresAccess
  readiness: Readiness
  console: ConsoleSource | null
}

const DESCRIPTION = new URL('../schemas/generated/openapi.json', import.meta.url)

type Handler = (ctx: Koa.Context) => Promise<void>

/** The figures of `/readyz`: sums, and their parts by kind of job and by consumer. */
function figures({ late, held, lag, setAside, unremoved, failedReportRuns, facts, stores, orphans }: Drift) {
  const kinds = late.filter(({ overdue }) => overdue > 0)
  return {
    overdue: kinds.reduce((sum, { overdue }) => sum + overdue, 0),
    oldest_overdue_seconds: Math.round(Math.max(0, ...kinds.map(({ oldest_seconds }) => oldest_seconds))),
    overdue_by_kind: Object.fromEntries(kinds.map(({ kind, overdue }) => [kind, overdue])),
    abandoned: late.reduce((sum, { abandoned }) => sum + abandoned, 0),
    unknown: late.reduce((sum, { unknown }) => sum + unknown, 0),
    unknown_kinds: late.filter(({ unknown }) => unknown > 0).map(({ kind }) => kind),
    held: held.held,
    oldest_held_seconds: Math.round(held.seconds),
    orphans,
    consumer_lag_seconds: Object.fromEntries(lag.map(({ consumer, seconds }) => [consumer, Math.round(seconds)])),
    set_aside: setAside.reduce((sum, { events }) => sum + events, 0),
    unremoved_files: unremoved.files,
    failed_report_runs: failedReportRuns,
    marked_users: facts.marked,
    oldest_mark_seconds: Math.round(facts.oldest_seconds),
    set_aside_users: facts.set_aside,
    fact_drift: facts.drifted,
    store_pending: stores.pending.reduce((sum, { pending }) => sum + pending, 0),
    store_oldest_pending_seconds: Math.round(Math.max(0, ...stores.pending.map(({ oldest_seconds }) => oldest_seconds))),
    store_late_seconds: Math.round(Math.max(0, ...stores.pending.map(({ late_seconds }) => late_seconds))),
    store_set_aside: stores.setAside.reduce((sum, { notifications }) => sum + notifications, 0),
    store_unacknowledged: stores.unacknowledged,
    store_alerts: Object.fromEntries(stores.alerts.map(({ alert, stores: count }) => [alert, count])),
  }
}

/** Answers the addresses that are not operations and need no key. All other requests go on to the API. */
export function operationalRoutes(deps: OperationalDeps): Koa.Middleware {
  const { metrics, readiness, figures: access } = deps
  const isOpen = (ctx: Koa.Context) => opensFigures(access, ctx.get('Authorization'))
  const description = readFile(DESCRIPTION, 'utf8')
  const download = downloads(deps)
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
          : { status: isOk ? 'ok' : 'degraded', ...(drift && isOpen(ctx) && figures(drift)) }
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
      await download(ctx)
    } else await next()
  }
}
