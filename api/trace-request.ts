import { requestSpan } from '../store/tracing.ts'
import type { Layer } from './context.ts'

/** Balancers and Prometheus ask these again and again. */
const UNTRACED = new Set(['/healthz', '/readyz', '/metrics'])

/** A span for each request, which goes on with the trace of the caller. The path is not in it: it may contain any text. */
export const traceRequest: Layer = (ctx, next) => {
  if (UNTRACED.has(ctx.path)) return next() as Promise<void>
  const given = ctx.req.headers.traceparent
  return requestSpan(ctx.method, typeof given === 'string' ? given : undefined, { 'http.request.method': ctx.method }, async span => {
    await next()
    const { operation, requestId, route, match } = ctx.state
    const template = route ?? (match?.is === 'found' ? match.route.description.path : undefined)
    if (template !== undefined) span.rename(`${ctx.method} ${template}`)
    span.note({
      ...(template !== undefined && { 'http.route': template }),
      ...(operation !== undefined && operation !== 'none' && { 'perennial.operation': operation }),
      'http.response.status_code': ctx.status,
      'perennial.request_id': requestId,
    })
    if (ctx.status >= 500) span.failed(String(ctx.status))
  })
}
