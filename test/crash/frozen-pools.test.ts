import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Gate, gateBefore } from '../harness/gate.ts'
import { type Installation, startInstallation } from '../harness/installation.ts'
import { must } from '../harness/integrations.ts'
import type { Running } from '../harness/process.ts'
import { until } from '../harness/until.ts'

// A process that is frozen inside a transaction keeps what it has locked until the server ends the transaction: for every pool that must
// be soon after the lease (1 s here, so 5 s), and not after the minute that is the longest.

vi.setConfig({ testTimeout: 120_000 })

/** Well under a minute, and well over five seconds on a busy machine. */
const SOON_MS = 30_000

let site: Installation
let worker: Running
let gate: Gate
beforeAll(async () => {
  site = await startInstallation({ driver: 'pg-boss' })
  worker = await site.worker()
  gate = gateBefore(site.sink.server)
})
afterAll(() => site.end())

const event = (id: string) => ({ event_id: id, event_name: id, identity_id: 'ada', happened_at: '2026-03-01T12:00:00Z', properties: {} })
const postEvent = (id: string) => must(site.call, 'POST', '/v4/events', { events: [event(id)] })

type Case = {
  pool: string
  /** What another session locks, so that the transaction of the pool waits within. */
  lock: string
  running: () => Running
  /** Causes the transaction; its own result does not matter. */
  act: () => Promise<unknown>
}
const CASES: Case[] = [
  {
    pool: 'perennial-execution',
    lock: 'lock table integrations in share mode',
    running: () => worker,
    // The record of a failed delivery locks the integration.
    act: async () => gate.open(500),
  },
  {
    pool: 'perennial-worker',
    lock: 'lock table grants in share mode',
    running: () => worker,
    act: () => must(site.call, 'POST', '/v4/events', { events: [event('chaos.ping'), event('chaos.pong')] }),
  },
  {
    pool: 'perennial-api',
    lock: 'lock table log_positions in share mode',
    running: () => site.api,
    act: () => postEvent('locked'),
  },
  {
    pool: 'perennial-stepping',
    lock: 'lock table audit_log in share mode',
    running: () => site.api,
    act: () => site.sandbox('POST', '/v4/test-clock/advance', { body: { by: 'PT1H' } }),
  },
  {
    pool: 'perennial-listing',
    // Only the profile reads grants, and only conditions need the profile.
    lock: 'lock table grants in access exclusive mode',
    running: () => site.api,
    act: async () => {
      const { user_id } = await must(site.call, 'GET', '/v4/identities/ada')
      const segmentation_conditions = [{ metric: 'country', comparator: 'eq', value: 'DE' }]
      const { id } = await must(site.call, 'POST', '/v4/remote-configurations', { name: 'Germany', segmentation_conditions })
      await must(site.call, 'PATCH', `/v4/remote-configurations/${id}/status`, { status: 'active' })
      await site.call('POST', `/v4/users/${user_id}/remote-configurations`, { body: {} })
    },
  },
]

type Session = { pid: number; state: string; wait_event_type: string | null; in_transaction: boolean }
const sessionsOf = async (pool: string): Promise<Session[]> =>
  (
    await site.pool.query<Session>(
      `select pid, state, wait_event_type, xact_start is not null as in_transaction from pg_stat_activity
       where datname = current_database() and application_name = $1`,
      [pool],
    )
  ).rows

test.each(CASES)('a process that is frozen inside a transaction of $pool keeps no lock for longer than the lease allows', async one => {
  if (one.pool === 'perennial-execution') {
    gate.shut()
    await postEvent('first')
    await until('the request', () => gate.waiting() > 0 || undefined)
  }
  const { child } = one.running()
  const lock = await site.pool.connect()
  let acted: Promise<unknown> = Promise.resolve()
  try {
    await lock.query('begin')
    await lock.query(one.lock)
    acted = one.act().catch(() => {})
    const pids = await until('a transaction that waits', async () => {
      const waiting = (await sessionsOf(one.pool)).filter(({ wait_event_type }) => wait_event_type === 'Lock')
      return waiting.length > 0 ? waiting.map(({ pid }) => pid) : undefined
    })
    process.kill(child.pid!, 'SIGSTOP')
    await lock.query('rollback')
    const inside = async () => (await sessionsOf(one.pool)).filter(({ pid, in_transaction }) => pids.includes(pid) && in_transaction)
    const frozen = await until('the frozen transaction', async () => {
      const open = await inside()
      return open.length > 0 && open.every(({ state }) => state.startsWith('idle in transaction')) ? open : undefined
    })
    expect(frozen.length).toBeGreaterThan(0)
    await until('the end of the frozen transaction', async () => ((await inside()).length === 0 ? true : undefined), SOON_MS)
  } finally {
    lock.release(true)
    process.kill(child.pid!, 'SIGCONT')
    gate.open()
    await acted
  }
})
