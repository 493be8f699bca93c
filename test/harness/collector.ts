import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { until } from './until.ts'

type Value = { stringValue?: string; intValue?: number | string; boolValue?: boolean; doubleValue?: number }
type Attribute = { key: string; value: Value }
type WireSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes?: Attribute[]
  links?: { traceId: string; spanId: string }[]
  startTimeUnixNano: string
  status?: { code?: number }
}
type Body = { resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: WireSpan[] }[] }[] }

export type CollectedSpan = {
  trace: string
  id: string
  parent: string | null
  name: string
  attributes: Record<string, unknown>
  /** Of the process. */
  resource: Record<string, unknown>
  links: { trace: string; id: string }[]
  startMs: number
  isError: boolean
}

const valueIn = ({ stringValue, intValue, boolValue, doubleValue }: Value) =>
  stringValue ?? boolValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue))
const valuesOf = (attributes: Attribute[] = []) => Object.fromEntries(attributes.map(({ key, value }) => [key, valueIn(value)]))

const spansOf = ({ resourceSpans }: Body): CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ traceId, spanId, parentSpanId, name, attributes, links = [], startTimeUnixNano, status }) => ({
        trace: traceId,
        id: spanId,
        parent: parentSpanId || null,
        name,
        attributes: valuesOf(attributes),
        resource: valuesOf(resource.attributes),
        links: links.map(link => ({ trace: link.traceId, id: link.spanId })),
        startMs: Number(startTimeUnixNano) / 1_000_000,
        isError: status?.code === 2,
      })),
    ),
  )

export type Collector = {
  url: string
  /** In the order of their arrival: a span arrives after those that it contains. */
  spans: CollectedSpan[]
  /** Content types of the requests. */
  types: string[]
  named(name: string): CollectedSpan[]
  /** Waits for spans of this name. */
  awaits(name: string, count?: number): Promise<CollectedSpan[]>
  /** The span and those above it, itself first. */
  pathOf(span: CollectedSpan): CollectedSpan[]
  /** For the processes that send to it. */
  env: Record<string, string>
  close(): Promise<void>
}

/** A server that takes spans as a collector does, over OTLP. Of Protobuf it takes only the fact. */
export async function collector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const types: string[] = []
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => null)
    if (body === null) return
    const type = String(request.headers['content-type'])
    types.push(`${request.url} ${type}`)
    if (type === 'application/json') spans.push(...spansOf(JSON.parse(body.toString()) as Body))
    response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const named = (name: string) => spans.filter(span => span.name === name)
  return {
    url,
    spans,
    types,
    named,
    awaits: (name, count = 1) => until(`${count} spans ${name}`, async () => (named(name).length >= count ? named(name) : undefined)),
    pathOf(span) {
      const path = [span]
      for (let last = span; last.parent !== null; ) {
        const above = spans.find(({ id, trace }) => id === last.parent && trace === last.trace)
        if (!above) break
        path.push(above)
        last = above
      }
      return path
    },
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
}
