import { afterEach, expect, test, vi } from 'vitest'
import type { Pool } from '../../store/connect.ts'
import { IS_WHOLE } from '../harness/effort.ts'
import { type Gate, gateBefore } from '../harness/gate.ts'
import { expectAllExecutedOnce, type Installation, startInstallation } from '../harness/installation.ts'
import { caughtUp, endLoad, type Load, moreLoad, noLoad, settled } from '../harness/load.ts'
import type { Running } from '../harness/process.ts'
import { until } from '../harness/until.ts'

// Processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 300_000 })

/** The product's own lease where time is given (`TEST_EFFORT=1`); otherwise a short one. */
const LEASE_SECONDS = IS_WHOLE ? 30 : 1

let site: Installation | undefined
afterEach(async () => {
  await site?.end()
  site = undefined
})

// Not `child.kill`: on Deno it sends no second signal.
const send = ({ child }: Running, signal: NodeJS.Signals) => process.kill(child.pid!, signal)

type InHand = { kind: string; id: number; fence: number }
const inHand = async (pool: Pool): Promise<InHand[]> =>
  (
    await pool.query<InHand>(
      `select kind, id, fence from due where kind in ('automation-run', 'delivery') and lease_until > clock_timestamp() order by kind, id`,
    )
  ).rows
const hasBoth = (rows: InHand[]) => new Set(rows.map(({ kind }) => kind)).size === 2

/** Stops the only worker while it has runs and a request of a delivery in hand; says what. Its requests are then answered with 500. */
async function freezeAtWork({ pool, call }: Installation, worker: Running, gate: Gate, load: Load): Promise<InHand[]> {
  for (let round = 0; ; round++) {
    gate.shut()
    await moreLoad(call, load, round)
    const both = async () => (gate.waiting() > 0 && hasBoth(await inHand(pool))) || undefined
    const isThere = await until('runs and deliveries in hand', both, 1000).catch(() => false)
    if (isThere) {
      send(worker, 'SIGSTOP')
      const held = await inHand(pool)
      if (hasBoth(held)) {
        gate.open(500)
        return held
      }
      send(worker, 'SIGCONT')
    }
    // Nothing may fail for having waited here.
    gate.open()
    if (round === 100) throw new Error('the worker was never caught at work')
  }
}

const taken = (pool: Pool, held: InHand[]) =>
  until(
    'another worker to take over',
    async () => {
      const still = await pool.query(
        `select 1 from due join unnest($1::text[], $2::bigint[], $3::bigint[]) as was(kind, id, fence) using (kind, id)
         where due.fence = was.fence and due.lease_until is not null`,
        [held.map(({ kind }) => kind), held.map(({ id }) => id), held.map(({ fence }) => fence)],
      )
      return still.rowCount === 0 || undefined
    },
    90_000,
  )

/** All that is recorded of what they had in hand. */
const recordsOf = async (pool: Pool, held: InHand[]) => {
  const ids = (kind: string) => held.filter(one => one.kind === kind).map(({ id }) => id)
  const rows = async (query: string, kind: string) => (await pool.query(query, [ids(kind)])).rows
  return {
    runs: await rows('select * from automation_runs where number = any($1) order by number', 'automation-run'),
    steps: await rows('select * from automation_steps where run = any($1) order by run, n', 'automation-run'),
    deliveries: await rows('select * from deliveries where number = any($1) order by number', 'delivery'),
  }
}

// Its own clock tells it that its leases are over before it sends anything, and the fence would tell it then: here either one is enough.
// What the fence does alone is below.
test('a worker that stood still until others had its work, and then goes on: none of its records lands', async () => {
  site = await startInstallation({ driver: 'pg-boss', leaseSeconds: LEASE_SECONDS })
  const { pool, call } = site
  const gate = gateBefore(site.sink.server)
  const load = noLoad()
  const frozen = await site.worker()

  // It goes on in the middle of what its successor does.
  const first = await freezeAtWork(site, frozen, gate, load)
  const successor = await site.worker()
  await taken(pool, first)
  send(frozen, 'SIGCONT')
  for (let round = 0; round < 3; round++) await moreLoad(call, load, round)
  await endLoad(call, load)
  await settled(pool, 90_000)
  expect(await successor.end()).toBe(0)

  // It goes on when all is done.
  const second = await freezeAtWork(site, frozen, gate, load)
  const another = await site.worker()
  await expectAllExecutedOnce(site, load)
  const before = await recordsOf(pool, second)
  expect(before.deliveries.length).toBeGreaterThan(0)
  // Neither the failure that it has read by now nor its end of waiting is anywhere: one answer, of the successor. That it may have sent is told.
  for (const { attempts } of before.deliveries)
    expect(attempts.filter(({ duration_ms }: { duration_ms: number | null }) => duration_ms !== null)).toHaveLength(1)
  send(frozen, 'SIGCONT')
  expect(await another.end()).toBe(0)
  await moreLoad(call, load, 0)
  await caughtUp(pool)
  await expectAllExecutedOnce(site, load)
  // With that it has let go of everything.
  expect(await frozen.end()).toBe(0)
  expect(await recordsOf(pool, second)).toEqual(before)
})

// By the time it goes on its lease is over, and what it had not sent yet it would not send. But this it has sent already.
test.each([
  500, 202,
])('a worker that stood still while it recorded the answer %i finds that the fence has moved: its record is void', async first => {
  // Short always: a statement that waits for a lock is ended after 30 s.
  site = await startInstallation({ driver: 'pg-boss' })
  const { pool, call } = site
  const gate = gateBefore(site.sink.server)
  // Started beforehand, so that the lock is not waited for while it starts.
  const successor = await site.worker()
  send(successor, 'SIGSTOP')
  const frozen = await site.worker()
  gate.shut()
  const event = { event_id: 'one', event_name: 'one', identity_id: 'ada', happened_at: '2026-03-01T12:00:00Z', properties: {} }
  expect((await call('POST', '/v4/events', { body: { events: [event] } })).body).toMatchObject({ created: 1 })
  await until('the request', () => gate.waiting() > 0 || undefined)
  const held = await inHand(pool)
  // Whoever records needs this row first.
  const lock = await pool.connect()
  try {
    await lock.query('begin')
    const { rowCount } = await lock.query('select 1 from ordering_keys for update')
    expect(rowCount).toBe(1)
    gate.open(first)
    const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until('its record to wait', async () => (await pool.query(blocked)).rowCount || undefined)
    send(frozen, 'SIGSTOP')
    send(successor, 'SIGCONT')
    await taken(pool, held)
    send(frozen, 'SIGCONT')
  } finally {
    await lock.query('commit')
    lock.release()
  }
  await settled(pool, 90_000)
  expect(await frozen.end()).toBe(0)
  // What the frozen worker may have sent counts as an attempt without an answer.
  const { rows } = await pool.query(
    `select status, attempt_count > 1 as is_told, jsonb_path_query_array(attempts, '$[*].http_status ? (@ != null)') as answers,
       delivery_error_count as failures
     from deliveries d join integrations i on i.number = d.integration`,
  )
  expect(rows).toEqual([{ status: 'delivered', is_told: true, answers: [200], failures: 0 }])
})
