import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import type { Pool } from '../../store/connect.ts'
import type { Client } from './client.ts'
import { until } from './until.ts'

// Jobs of every kind under load, and the check afterwards: was each job executed exactly once?

export type Received = { id: string; path: string; body: Record<string, unknown> }
export type Sink = { url: string; received: Received[]; server: Server; close(): Promise<void> }

/** A receiver that accepts and records everything. */
export async function sink(): Promise<Sink> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    // A worker that is killed while it sends has sent nothing.
    const body = await text(request).catch(() => null)
    if (body === null) return
    received.push({ id: String(request.headers['webhook-id']), path: request.url ?? '', body: JSON.parse(body || '{}') })
    response.end('ok')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    server,
    async close() {
      server.closeAllConnections()
      await new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
}

const PING = 'chaos.ping'
const PONG = 'chaos.pong'
const PEOPLE = 40

const STEPS = [
  {
    id: 'size',
    type: 'branch',
    conditions: [{ metric: 'event:size', comparator: 'gt', value: '5' }],
    then: [{ id: 'big', type: 'set_property', key: 'size', value: 'big' }],
    else: [{ id: 'small', type: 'set_property', key: 'size', value: 'small' }],
  },
  { id: 'hook', type: 'webhook', integration_id: '' },
  { id: 'pong', type: 'wait_for_event', event: PONG, timeout: 'P1D', on_timeout: [{ id: 'late', type: 'exit' }] },
  { id: 'grant', type: 'grant_entitlement', entitlement_id: 'premium', duration: 'P1D' },
  { id: 'done', type: 'set_property', key: 'done', value: 'yes' },
]
const TIMELINE = (size: number) => ['size', size > 5 ? 'big' : 'small', 'hook', 'pong', 'grant', 'done']

export type LoadResources = { integration: string; hook: string; automation: string }

const create = async (call: Client, path: string, body: unknown) => {
  const answer = await call('POST', path, { body })
  expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
  return answer.body
}

async function webhooks(call: Client, url: string, events: string[] | null): Promise<string> {
  const { id } = await create(call, '/v4/integrations', { title: 'Sink', integration: 'webhooks', target_platform: 'iOS' })
  const config = await call('PUT', `/v4/integrations/${id}/config`, { body: { settings: { url, sandbox_url: url }, events } })
  expect(config.status, config.text).toBe(200)
  const active = await call('POST', `/v4/integrations/${id}/status`, { body: { status: 1 } })
  expect(active.status, active.text).toBe(200)
  return id
}

/** Creates an integration that gets every event, and an automation with a step of each kind that has an effect. */
export async function createLoadResources(call: Client, to: string): Promise<LoadResources> {
  await create(call, '/v4/entitlements', { id: 'premium', description: 'everything' })
  const integration = await webhooks(call, `${to}/events`, ['*'])
  const hook = await webhooks(call, `${to}/runs`, [])
  const steps = STEPS.map(step => (step.type === 'webhook' ? { ...step, integration_id: hook } : step))
  const data = { initiators: [{ uid: PING, type: 'event' }], actions: {}, steps }
  const automation = await create(call, '/v4/automations', { name: 'Chaos', status: 'active', data })
  return { integration, hook, automation: automation.id }
}

export type Load = { pings: Map<string, number>; events: Set<string> }
export const noLoad = (): Load => ({ pings: new Map(), events: new Set() })
let sent = 0

async function post(call: Client, load: Load, name: string, people: number[]): Promise<void> {
  const events = people.map(person => {
    const size = sent % 10
    return {
      event_id: `chaos-${sent++}`,
      event_name: name,
      identity_id: `person-${person}`,
      happened_at: '2026-03-01T12:00:00Z',
      properties: { size },
    }
  })
  const { body } = await call('POST', '/v4/events', { body: { events } })
  for (const [i, { id, status }] of body.results.entries()) {
    // `duplicate`: stored by an earlier request whose response was lost when the database crashed. Only this load uses these ids.
    expect(['created', 'duplicate']).toContain(status)
    load.events.add(id)
    if (name === PING) load.pings.set(id, events[i]!.properties.size)
  }
}

/** Posts one batch of events that start runs, and one of events for which some of the runs wait. */
export async function moreLoad(call: Client, load: Load, round: number): Promise<void> {
  await post(
    call,
    load,
    PING,
    Array.from({ length: 10 }, (_, i) => (round * 7 + i) % PEOPLE),
  )
  await post(call, load, PONG, [(round * 3) % PEOPLE, (round * 5 + 1) % PEOPLE])
}

/** Whether the workers are so far behind that more load would only prolong the test. */
export const isBehind = async (pool: Pool, most = 150): Promise<boolean> =>
  (await count(pool, `select count(*) as n from due where kind in ('automation-run', 'delivery') and due_at <= clock_timestamp()`)) > most

export const caughtUp = (pool: Pool, most?: number): Promise<unknown> =>
  until('the workers keep up', async () => !(await isBehind(pool, most)) || undefined, 120_000)

/** Posts the events for which runs still wait. */
export const endLoad = (call: Client, load: Load): Promise<void> =>
  post(
    call,
    load,
    PONG,
    Array.from({ length: PEOPLE }, (_, i) => i),
  )

const count = async (pool: Pool, query: string, values: unknown[] = []): Promise<number> =>
  Number((await pool.query(query, values)).rows[0].n)

/** A condition on rows: those of one environment, or all. */
const within = (environment: number | undefined) => (environment === undefined ? 'true' : `environment = ${environment}`)

/** Waits until no job is left; the error names the jobs that are left after `ms`. `environment`: of one, where the test has others beside it. */
export async function settled(pool: Pool, ms: number, environment?: number): Promise<void> {
  const open = `select (select count(*) from due where kind in ('automation-run', 'delivery') and ${within(environment)})
    + (select count(*) from log_consumers c join log_positions l using (environment, partition)
      where c.next_offset < l.next_offset and ${within(environment)}) as n`
  await until('no job is due', async () => ((await count(pool, open)) === 0 ? true : undefined), ms).catch(async error => {
    const runs = await pool.query('select status, current_step, count(*)::int from automation_runs group by 1, 2')
    const deliveries = await pool.query('select status, source, count(*)::int from deliveries group by 1, 2')
    const due = await pool.query(`select kind, count(*)::int, min(due_at)::text, max(fence) as fence from due group by 1`)
    throw new Error(`${error.message}: ${JSON.stringify([runs.rows, deliveries.rows, due.rows])}`)
  })
}

/** Each job was executed exactly once: one run per starting event, each step once and in order, one delivery per event and per webhook step. */
export async function expectExecutedOnce(pool: Pool, call: Client, load: Load, { received }: Sink, environment?: number): Promise<void> {
  const runs = await pool.query(
    `select number, event_id, status, reason from automation_runs where ${within(environment)} order by event_id`,
  )
  expect(runs.rows.map(({ event_id, status, reason }) => [event_id, status, reason])).toEqual(
    [...load.pings.keys()].sort().map(id => [id, 'succeeded', null]),
  )
  const steps = await pool.query(
    `select run, array_agg(step_id order by n) as ids, array_agg(n order by n) as positions, bool_and(status = 'succeeded') as all_succeeded
     from automation_steps where run = any ($1) group by run`,
    [runs.rows.map(({ number }) => number)],
  )
  const eventOf = new Map(runs.rows.map(({ number, event_id }) => [number, event_id]))
  expect(steps.rows).toHaveLength(load.pings.size)
  for (const { run, ids, positions, all_succeeded } of steps.rows)
    expect([ids, positions, all_succeeded]).toEqual([TIMELINE(load.pings.get(eventOf.get(run))!), [0, 1, 2, 3, 4, 5], true])

  const deliveries = await pool.query(
    `select id, source, event_id, run_id, status, attempt_count from deliveries where ${within(environment)}`,
  )
  expect(new Set(deliveries.rows.map(({ status }) => status))).toEqual(new Set(['delivered']))
  const ofEvents = deliveries.rows.filter(({ source }) => source === 'event')
  expect(ofEvents.map(({ event_id }) => event_id).sort()).toEqual([...load.events].sort())
  const ofRuns = deliveries.rows.filter(({ source }) => source === 'automation')
  expect(new Set(ofRuns.map(({ run_id }) => run_id)).size).toBe(load.pings.size)
  expect(ofRuns).toHaveLength(load.pings.size)
  const real = received.filter(({ body }) => body.test !== true)
  expect(new Set(real.map(({ id }) => id))).toEqual(new Set(deliveries.rows.map(({ id }) => id)))
  // Each time that it came is an attempt, whether or not its worker lived to record it.
  const times = Map.groupBy(real, ({ id }) => id)
  expect(deliveries.rows.filter(({ id, attempt_count }) => attempt_count < times.get(id)!.length)).toEqual([])

  expect(await count(pool, `select count(*) as n from event_waits where ${within(environment)}`)).toBe(0)
  expect(await count(pool, `select count(*) as n from set_aside_events where ${within(environment)}`)).toBe(0)
  const { body } = await call('GET', '/v4/ledger')
  const ledger = Object.fromEntries(
    body.data.map((line: Record<string, unknown>) => [line.kind, [line.promised, line.kept, line.outstanding]]),
  )
  expect(ledger.automation_runs).toEqual([load.pings.size, load.pings.size, 0])
  const promised = load.events.size + load.pings.size
  expect(ledger.deliveries).toEqual([promised, promised, 0])
}

/** Numbers in [0, 1) that are the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

export const oneOf = <T>(items: readonly T[], random: () => number): T => items[Math.floor(random() * items.length)]!
