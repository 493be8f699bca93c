// One trace from the request that brings an event to the webhook that follows from it, over two processes and a retry.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CollectedSpan, type Collector, collector } from '../harness/collector.ts'
import { type Installation, startInstallation } from '../harness/installation.ts'
import { type Receiver, receiver } from '../harness/receiver.ts'
import { until } from '../harness/until.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const PERSON = 'a-person-who-is-in-no-span'

let traces: Collector
let hook: Receiver
let installation: Installation
let worker: Awaited<ReturnType<Installation['worker']>>
let run: string

const must = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
  const answer = await installation.sandbox(method, path, { body, headers })
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.body
}

const ofTrace = () => traces.spans.filter(({ trace }) => trace === TRACE)
const inTrace = (name: string) => ofTrace().filter(span => span.name === name)
const namesAbove = (span: CollectedSpan) => traces.pathOf(span).map(({ name }) => name)

beforeAll(async () => {
  traces = await collector()
  hook = await receiver()
  hook.script = [{ status: 500 }]
  const env = { ...traces.env, OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20test', LOG_LEVEL: 'info' }
  // Requests are counted: no lease is lost on a busy machine.
  installation = await startInstallation({ driver: 'pg-boss', leaseSeconds: 30, isSandbox: true, env })
  worker = await installation.worker()
  const { id } = await must('POST', '/v4/integrations', { title: 'Own server', integration: 'webhooks', target_platform: 'iOS' })
  await must('PUT', `/v4/integrations/${id}/config`, { settings: { url: hook.url, sandbox_url: hook.url }, events: [] })
  await must('POST', `/v4/integrations/${id}/status`, { status: 1 })
  const steps = [{ id: 'tell', type: 'webhook', integration_id: id }]
  const data = { initiators: [{ uid: 'traced.begun', type: 'event' }], actions: {}, steps }
  const automation = await must('POST', '/v4/automations', { name: 'Traced', status: 'active', data })
  const event = { event_id: 'traced-1', event_name: 'traced.begun', identity_id: PERSON, happened_at: '2026-03-01T12:00:00Z' }
  const headers = { traceparent: `00-${TRACE}-${CALLER}-01`, 'X-Request-Id': 'request-of-the-story' }
  await must('POST', '/v4/events', { events: [event] }, headers)
  await until('the first attempt', () => hook.events()[0])
  run = await until('the wait for the next attempt', async () => {
    const [found] = (await must('GET', `/v4/automations/${automation.id}/runs`)).data
    return found?.is_retrying ? (found.id as string) : undefined
  })
  await must('POST', '/v4/test-clock/advance', { by: 'PT2M' })
  await until('the second attempt', () => hook.events()[1])
  await until('the end of the run', async () => ((await must('GET', `/v4/automation-runs/${run}`)).finished_at ? true : undefined))
  await until('the spans of both attempts', () => (inTrace('POST').length >= 3 ? true : undefined))
  await worker.end()
}, 120_000)

afterAll(async () => {
  await installation?.end()
  await hook?.close()
  await traces?.close()
})

test('the request goes on with the trace of its caller, and names its route and its operation', () => {
  const [request] = inTrace('POST /v4/events')
  expect(request).toMatchObject({
    parent: CALLER,
    attributes: {
      'http.route': '/v4/events',
      'http.response.status_code': 200,
      'perennial.operation': 'v4CreateEvents',
      'perennial.request_id': 'request-of-the-story',
    },
    resource: { 'service.name': 'perennial', 'perennial.role': 'api', 'deployment.environment.name': 'a test' },
  })
  expect(namesAbove(inTrace('append-events')[0]!)).toEqual(['append-events', 'v4CreateEvents', 'POST /v4/events'])
})

test('the run, its step and the delivery follow in another process', () => {
  const [job] = inTrace('job automation-run')
  expect(job!.resource).toMatchObject({ 'service.name': 'perennial', 'perennial.role': 'worker' })
  expect(namesAbove(job!).at(-1)).toBe('POST /v4/events')
  expect(namesAbove(inTrace('step webhook')[0]!).slice(0, 2)).toEqual(['step webhook', 'job automation-run'])
  for (const part of ['queue wait', 'load']) expect(inTrace(part).length).toBeGreaterThanOrEqual(3)
})

test('each attempt is a span below the step, and the webhook carries it', () => {
  const sent = hook.events().map(({ headers }) => headers.traceparent)
  expect(sent).toHaveLength(2)
  const calls = sent.map(header => ofTrace().find(({ id }) => header === `00-${TRACE}-${id}-01`)!)
  expect(calls.map(({ name, attributes }) => [name, attributes['http.response.status_code']])).toEqual([
    ['POST', 500],
    ['POST', 200],
  ])
  for (const call of calls)
    expect(namesAbove(call).filter(name => /^(POST|job|step)/.test(name))).toEqual([
      'POST',
      'job delivery',
      'step webhook',
      'job automation-run',
      'POST /v4/events',
    ])
  expect(calls[0]!.isError).toBe(true)
  expect(calls[1]!.isError).toBe(false)
})

test('every span of the trace is connected with it', () => {
  const ids = new Set(ofTrace().map(({ id }) => id))
  expect(ofTrace().filter(({ parent }) => parent !== CALLER && !ids.has(parent!))).toEqual([])
})

test('no span has anything of a customer or of a key', () => {
  const all = JSON.stringify(traces.spans)
  for (const secret of [PERSON, 'k'.repeat(40), 'QON_', 'whsec_', '/hook', 'traced-1']) expect(all).not.toContain(secret)
})

test('the run, its delivery and the lines of the log name the trace', async () => {
  const shown = await must('GET', `/v4/automation-runs/${run}`)
  expect(shown.trace_id).toBe(TRACE)
  const { delivery } = shown.steps[0]
  expect((await must('GET', `/v4/integrations/${delivery.integration_id}/deliveries/${delivery.id}`)).trace_id).toBe(TRACE)
  expect(installation.api.output()).toMatch(
    new RegExp(`"operation":"v4CreateEvents".*"trace_id":"${TRACE}"|"trace_id":"${TRACE}".*"operation":"v4CreateEvents"`),
  )
  const ofJobs = worker
    .output()
    .split('\n')
    .filter(line => line.includes('"msg":"delivery suspended"'))
  expect(ofJobs).toEqual([expect.stringContaining(`"trace_id":"${TRACE}"`)])
})
