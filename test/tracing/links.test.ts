// Where a trace goes on, where a new one begins with a link, and what becomes of work whose collector is away.
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openTelemetry } from '../../app/open-telemetry.ts'
import { batchSpan, openJob, rootSpan, setTracing, storedTrace, traceId } from '../../store/tracing.ts'
import { type Collector, collector } from '../harness/collector.ts'
import { type EngineFixture, engineFixture, workflow } from '../harness/engine-fixture.ts'
import { until } from '../harness/until.ts'

const OPTIONS = { serviceName: 'perennial', attributes: {}, headers: {} }
const former = { ...process.env }
let traces: Collector

/** Sends the traces of this process to `env` as long as `work` lasts. */
async function traced<T>(
  env: Record<string, string>,
  work: () => Promise<T>,
): Promise<{ result: T; lines: { why: string }[]; stopMs: number }> {
  Object.assign(process.env, env)
  const lines: { why: string }[] = []
  const log = pino({ level: 'warn' }, { write: line => void lines.push(JSON.parse(line)) })
  const { tracing, stop } = openTelemetry(OPTIONS, 'worker', log)
  setTracing(tracing)
  try {
    const result = await work()
    setTracing(undefined)
    const began = performance.now()
    await stop()
    return { result, lines, stopMs: performance.now() - began }
  } finally {
    setTracing(undefined)
    for (const name of Object.keys(env)) delete process.env[name]
    Object.assign(process.env, former)
  }
}

beforeAll(async () => {
  traces = await collector()
})
afterAll(() => traces?.close())
afterEach(() => {
  traces.spans.length = 0
})

describe('a run', () => {
  let fixture: EngineFixture

  /** A run that waits for a day, and whose trace is `hours` old when the wait ends. */
  const waited = (hours: number) =>
    traced(traces.env, async () => {
      fixture = await engineFixture()
      try {
        const waits = workflow('waits', async context => {
          await context.transact('before', async () => null)
          await context.sleep('a-day', 86_400)
          await context.transact('after', async () => null)
        })
        await fixture.work([waits])
        const run = await rootSpan('request', () => fixture.begin('waits', 'x'))
        const traceOf = async () =>
          (
            await fixture.pool.query<{ status: string; trace: string }>('select status, trace_context as trace from runs where id = $1', [
              run,
            ])
          ).rows[0]!
        const first = await until('the wait', async () => {
          const one = await traceOf()
          return one.status === 'waiting' ? one.trace : undefined
        })
        await fixture.pool.query(
          `update runs set trace_context = left(trace_context, 55) || ' ' || (extract(epoch from now()) - $2::int * 3600)::bigint where id = $1`,
          [run, hours],
        )
        await fixture.advance(86_400)
        await fixture.ended(run)
        return { first, second: (await traceOf()).trace }
      } finally {
        await fixture.clear()
        await fixture.drop()
      }
    })

  test('goes on with its trace after a short time', async () => {
    const { result } = await waited(0)
    const [before] = traces.named('step before')
    const [after] = traces.named('step after')
    expect(after!.trace).toBe(before!.trace)
    expect(before!.trace).toBe(traces.named('request')[0]!.trace)
    expect(result.second.slice(0, 55)).toBe(result.first.slice(0, 55))
  })

  test('begins a trace with a link to the former one after a long time, and keeps it', async () => {
    const { result } = await waited(2)
    const [before] = traces.named('step before')
    const [after] = traces.named('step after')
    expect(after!.trace).not.toBe(before!.trace)
    const job = traces.pathOf(after!).at(-1)!
    expect(job).toMatchObject({ name: 'job waits', parent: null, links: [{ trace: before!.trace, id: traces.named('request')[0]!.id }] })
    expect(result.second.slice(3, 35)).toBe(after!.trace)
  })
})

describe('a batch', () => {
  const origins = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, n) => rootSpan(`origin ${n}`, async () => storedTrace())))

  test('of several traces is a trace of its own with at most 32 links, and what comes of it is linked to it', async () => {
    const { result } = await traced(traces.env, async () => {
      const stored = await origins(40)
      return batchSpan(
        'batch',
        () => stored,
        async () => ({ trace: traceId(), row: storedTrace() }),
      )
    })
    const [batch] = traces.named('batch')
    expect(batch).toMatchObject({ parent: null, trace: result.trace, attributes: { 'perennial.items': 40 } })
    expect(batch!.links).toHaveLength(32)
    expect(result.row).toMatch(/ 0$/)
  })

  test('of one trace is a part of it', async () => {
    await traced(traces.env, async () => {
      const stored = await origins(1)
      await batchSpan(
        'batch',
        () => stored,
        async () => null,
      )
    })
    expect(traces.named('batch')[0]).toMatchObject({ trace: traces.named('origin 0')[0]!.trace, parent: traces.named('origin 0')[0]!.id })
  })
})

test('spans are sent as Protobuf unless told otherwise', async () => {
  traces.types.length = 0
  await traced({ OTEL_EXPORTER_OTLP_ENDPOINT: traces.url }, () => rootSpan('one', async () => null))
  expect(traces.types).toEqual(['/v1/traces application/x-protobuf'])
})

test('a trace that is not sampled keeps its id and sends nothing', async () => {
  const env = { ...traces.env, OTEL_TRACES_SAMPLER: 'parentbased_always_off' }
  const { result } = await traced(env, () => rootSpan('one', async () => storedTrace()))
  expect(result).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00 \d+$/)
  expect(traces.spans).toEqual([])
})

test('a collector that is away costs one line of the log and a bounded time at the end', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9', OTEL_BSP_SCHEDULE_DELAY: '20', OTEL_EXPORTER_OTLP_TIMEOUT: '100' }
  const { result, lines, stopMs } = await traced(env, async () => {
    const done: number[] = []
    for (let n = 0; n < 5; n++) done.push(await rootSpan('one', async () => n))
    await until('the first failure', () => new Promise<boolean>(resolve => setTimeout(() => resolve(true), 400)))
    for (let n = 5; n < 10; n++) done.push(await rootSpan('one', async () => n))
    return done
  })
  expect(result).toHaveLength(10)
  expect(stopMs).toBeLessThan(4_000)
  expect(lines).toHaveLength(1)
  expect(lines[0]!.why).toMatch(/ECONNREFUSED/)
})

test('the span of a job that was due long ago begins an hour before its claim', async () => {
  const before = Date.now()
  await traced(traces.env, async () => openJob({ kind: 'late', stored: null, dueAt: before - 5 * 3_600_000, begunAt: before }).end())
  expect(traces.named('job late')[0]!.startMs).toBeCloseTo(before - 3_600_000, 0)
})

test('a job without a trace gives its row one only where the span is kept', async () => {
  const renewed = async () => openJob({ kind: 'bare', stored: null, dueAt: Date.now(), begunAt: Date.now() }).renewed
  expect((await traced(traces.env, renewed)).result).toMatch(/^00-/)
  expect((await traced({ ...traces.env, OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, renewed)).result).toBeNull()
})
