import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import {
  type Context,
  context,
  createContextKey,
  diag,
  logs,
  metrics,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'
import type { Logger } from 'pino'
import { NO_SPAN, type OpenJob, type OpenSpan, type TracedJob, type Tracing } from '../store/tracing.ts'
import type { TraceOptions } from './trace-options.ts'

// The one file that knows the library. It patches no module of others: what is worth a span is opened where it is done.

/**
 * What begins so long after the row was written begins a trace of its own, with a link to the former one: most programs that store traces expect
 * their spans within an hour.
 */
const LONGEST_MS = 3_600_000

/** Links of one span: a batch may serve hundreds of runs. */
const MOST_LINKS = 32
/** For the spans that are not sent yet when the process stops. */
const FLUSH_MS = 3_000
/** A collector that is away is told once in a while, and not with each batch of spans. */
const SILENT_MS = 600_000

/** In the context of work for several traces. */
const BATCH = createContextKey('batch')

type Origin = { spanContext: SpanContext; writtenMs: number }

const STORED = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?: (\d+))?$/

function originOf(stored: string | null | undefined): Origin | null {
  const [, traceId, spanId, flags, seconds = '0'] = stored?.match(STORED) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return null
  // Zeros are the ids of no trace.
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED
  return { spanContext: { traceId, spanId, traceFlags, isRemote: true }, writtenMs: Number(seconds) * 1000 }
}

/** A later version of the header may have further parts. */
const headerOf = (given: string | undefined): string | undefined =>
  given?.trim().replace(/^(?!00|ff)[0-9a-f]{2}(-.{32}-.{16}-.{2})(-.*)?$/, '00$1')

const isRecordingIn = (one: Context): boolean => trace.getSpan(one)?.isRecording() ?? false
const withParent = ({ spanContext }: Origin): Context => trace.setSpanContext(ROOT_CONTEXT, spanContext)
const textOf = ({ traceId, spanId, traceFlags }: SpanContext): string => `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`

/** Names alone: the message of an error may contain anything. */
const typeOf = (error: unknown): string => {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : 'error'
}

function openSpan(span: Span): OpenSpan {
  return {
    rename: name => void span.updateName(name),
    note: attributes => void span.setAttributes(attributes),
    failed(type) {
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.setAttribute('error.type', type)
    },
  }
}

async function within<T>(span: Span, parent: Context, work: (span: OpenSpan) => Promise<T>): Promise<T> {
  const open = openSpan(span)
  try {
    return await context.with(trace.setSpan(parent, span), () => work(open))
  } catch (error) {
    open.failed(typeOf(error))
    throw error
  } finally {
    span.end()
  }
}

export function openTelemetry(
  { serviceName, attributes, headers }: TraceOptions,
  role: string,
  log: Logger,
): { tracing: Tracing; stop: () => Promise<void> } {
  const resource = { 'host.name': hostname(), 'process.pid': process.pid, ...attributes, 'perennial.role': role }
  Object.assign(process.env, headers)
  const sdk = new NodeSDK({
    ...(serviceName !== undefined && { serviceName }),
    resourceDetectors: [{ detect: () => ({ attributes: resource }) }],
    // Traces alone: metrics are at /metrics, and the log is on standard output.
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [],
    textMapPropagator: null,
  })
  warnInto(log)
  sdk.start()
  const tracer = trace.getTracer('perennial')

  const active = (): SpanContext | undefined => trace.getSpanContext(context.active())

  function stored(isLinked: boolean): string | null {
    const current = active()
    if (current === undefined) return null
    const seconds = isLinked || context.active().getValue(BATCH) ? 0 : Math.floor(Date.now() / 1000)
    return `${textOf(current)} ${seconds}`
  }

  const isOld = ({ writtenMs }: Origin): boolean => Date.now() - writtenMs > LONGEST_MS

  function batch<T>(name: string, origins: readonly (string | null)[], work: () => Promise<T>): Promise<T> {
    const sampled: Origin[] = []
    const seen = new Set<string>()
    for (const text of origins) {
      if (sampled.length === MOST_LINKS) break
      const origin = originOf(text)
      if (!origin?.spanContext.traceFlags || seen.has(origin.spanContext.spanId)) continue
      seen.add(origin.spanContext.spanId)
      sampled.push(origin)
    }
    const [first] = sampled
    if (first === undefined) return context.with(ROOT_CONTEXT, work)
    if (origins.length === 1 && !isOld(first)) {
      const parent = withParent(first)
      return within(tracer.startSpan(name, {}, parent), parent, work)
    }
    const parent = ROOT_CONTEXT.setValue(BATCH, true)
    const links = sampled.map(({ spanContext }) => ({ context: spanContext }))
    return within(tracer.startSpan(name, { links, attributes: { 'perennial.items': origins.length } }, parent), parent, work)
  }

  function job({ kind, stored: text, dueAt, begunAt }: TracedJob): OpenJob {
    const origin = originOf(text)
    const former = origin && isOld(origin) ? origin : null
    const parent = origin && former === null ? withParent(origin) : ROOT_CONTEXT
    // A span of more than an hour would be of no use to most programs that store traces, either.
    const startTime = Math.max(begunAt - LONGEST_MS, Math.min(begunAt, dueAt))
    const links = former ? [{ context: former.spanContext }] : []
    const options = { kind: SpanKind.CONSUMER, startTime, links, attributes: { 'perennial.job.kind': kind } }
    const span = tracer.startSpan(`job ${kind}`, options, parent)
    const own = trace.setSpan(parent, span)
    if (span.isRecording()) {
      tracer.startSpan('queue wait', { startTime }, own).end(begunAt)
      // The trace is known with the row.
      tracer.startSpan('load', { startTime: begunAt }, own).end()
    }
    const renewed = parent === ROOT_CONTEXT && span.isRecording() ? `${textOf(span.spanContext())} ${Math.floor(begunAt / 1000)}` : null
    return { within: work => context.with(own, work), renewed, span: openSpan(span), end: () => span.end() }
  }

  const tracing: Tracing = {
    span(name, attributes, work, kind) {
      const parent = context.active()
      if (!isRecordingIn(parent)) return work(NO_SPAN)
      const options = { kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL, attributes }
      return within(tracer.startSpan(name, options, parent), parent, work)
    },
    request(name, given, attributes, work) {
      const caller = originOf(headerOf(given))
      const parent = caller ? withParent(caller) : ROOT_CONTEXT
      return within(tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent), parent, work)
    },
    root: (name, work) => within(tracer.startSpan(name, {}, ROOT_CONTEXT), ROOT_CONTEXT, work),
    batch,
    job,
    isRecording: () => isRecordingIn(context.active()),
    stored,
    traceparent() {
      const current = active()
      return current === undefined ? null : textOf(current)
    },
    traceId: () => active()?.traceId ?? null,
    detached: work => context.with(ROOT_CONTEXT, work),
  }
  const stop = async () => {
    const limit = new AbortController()
    await Promise.race([sdk.shutdown().catch(() => {}), pause(FLUSH_MS, undefined, { signal: limit.signal, ref: false }).catch(() => {})])
    limit.abort()
    // The library registers all of them, and nothing twice.
    for (const api of [trace, context, logs, metrics]) api.disable()
    diag.disable()
  }
  return { tracing, stop }
}

/** What the library says of its failures, and of spans that it drops, is one line in a while. The work goes on. */
function warnInto(log: Logger): void {
  let silentUntil = 0
  const warn = (...parts: unknown[]) => {
    const now = performance.now()
    if (now < silentUntil) return
    silentUntil = now + SILENT_MS
    log.warn({ why: parts.map(reasonOf).join(': ').slice(0, 200) }, 'traces are not sent as they should be: the work goes on without')
  }
  diag.setLogger({ error: warn, warn, info() {}, debug() {}, verbose() {} }, { suppressOverrideMessage: true })
}

/** An error comes as itself, or as text or JSON with its stack and what the server answered. Its message may be empty. */
function reasonOf(part: unknown): string {
  let said = part
  try {
    if (typeof part === 'string') said = JSON.parse(part)
  } catch {}
  if (typeof said !== 'object' || said === null) return String(part).split('\n', 1)[0]!
  const { message, code, name } = said as { message?: unknown; code?: unknown; name?: unknown }
  return String(message || code || name || 'failed')
}
