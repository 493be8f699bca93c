import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../store/connect.ts'
import { startRedis } from '../../test/harness/redis.ts'
import { newDatabase } from '../database.ts'
import { createTenants, openPool, type Product, startProduct, type Tenant } from '../product.ts'
import { say, thousands } from '../report.ts'
import type { Resources } from '../resources.ts'
import { type Caller, caller, event, hookOn, webhookTo } from '../sink.ts'
import { tracesOf } from '../trace-collector.ts'
import { processorSeconds } from './cpu.ts'
import { type LockWaits, watchLockWaits } from './lock-waits.ts'
import { serverPid } from './server-pid.ts'
import { seedWaiting } from './waiting.ts'

export const DRIVERS = ['BullMQ', 'pg-boss'] as const
export type Driver = (typeof DRIVERS)[number]

/** What each event starts: its delivery to an integration, or a run whose only step sends a webhook. */
export type Way = 'deliver' | 'automate'

/** Events a second from the first request until the last effect is recorded; processor time of one event in milliseconds; waits for locks. */
export type Rate = { rate: number; node: number; postgres: number } & LockWaits

export type Setting = { driver: Driver; way: Way; integrations: number; workers: number; waiting: number }

const BATCH = 500
const CALLERS = 4
const POLL_MS = 20
/** Most events are of users that are known already. */
export const PEOPLE = 5_000
const EVENT = 'bench.path'

export type Measured = {
  round(events: number): Promise<Rate>
  pause(): void
  resume(): void
  finish(): Promise<void>
}

async function post(calls: Caller, name: string, from: number, count: number): Promise<void> {
  let next = 0
  const one = async () => {
    while (next < count) {
      const first = next
      next += BATCH
      const events = Array.from({ length: Math.min(BATCH, count - first) }, (_, n) =>
        event(name, `${from + first + n}`, `person-${(from + first + n) % PEOPLE}`),
      )
      await calls('POST', '/v4/events', { events })
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, one))
}

/** Whether every event of the log has been read, and all that follows from them is recorded. */
async function isLevel(pool: Pool, { environment }: Tenant): Promise<boolean> {
  const { rows } = await pool.query<{ is_level: boolean }>(
    `select not exists (select 1 from due where environment = $1 and kind in ('delivery', 'automation-run') and due_at < clock_timestamp() + interval '2 days')
       and not exists (select 1 from log_positions p join log_consumers c using (environment, partition)
         where environment = $1 and c.consumer in ('automations', 'integrations') and c.next_offset < p.next_offset) as is_level`,
    [environment],
  )
  return rows[0]!.is_level
}

const COUNTED = {
  deliver: `select count(*)::int as n from deliveries where environment = $1 and status = 'delivered' and attempt_count = 1`,
  automate: `select count(*)::int as n from automation_runs r join deliveries v on v.environment = r.environment and v.run_id = r.id
             where r.environment = $1 and r.status = 'succeeded' and v.status = 'delivered' and v.attempt_count = 1`,
}

/** The product on a database of its own, with what each event of a round starts. The receiver counts the requests that arrive. */
export async function startOurs(
  resources: Resources,
  { driver, way, integrations, workers, waiting }: Setting,
  receiver: { url: string; arrived(): number },
): Promise<Measured> {
  const database = await newDatabase(resources)
  const pool = openPool(resources, database)
  const [tenant] = await createTenants(pool, 1)
  const redis = driver === 'BullMQ' ? await startRedis() : undefined
  if (redis) resources.undo(() => redis.end())
  const traces = await tracesOf(resources)
  const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'error', ...(redis && { REDIS_URL: redis.url }), ...traces }
  const api = await startProduct(resources, database, 'api', env)
  const call = caller(api.url, tenant!.secretKey)
  const names = Array.from({ length: integrations }, (_, n) => `${EVENT}.${n}`)
  for (const name of names) {
    if (way === 'deliver') await webhookTo(call, receiver.url, [name])
    else await hookOn(call, name, await webhookTo(call, receiver.url, []))
  }
  if (waiting > 0) await seedWaiting(pool, tenant!.environment, waiting)
  const processes: Product[] = [api]
  for (let n = 0; n < workers; n++) processes.push(await startProduct(resources, database, 'worker', env))
  const pids = processes.map(({ pid }) => pid)
  const postgres = await serverPid(resources)
  const seconds = async () => ({ node: await processorSeconds(pids), postgres: postgres === null ? 0 : await processorSeconds([postgres]) })
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pids) process.kill(pid, name)
  }
  let sent = 0
  return {
    async round(events) {
      const before = await seconds()
      const arrivedBefore = receiver.arrived()
      const waits = watchLockWaits(pool)
      const began = performance.now()
      const each = Math.ceil(events / integrations)
      await Promise.all(names.map((name, n) => post(call, name, sent + n * each, each)))
      const all = each * integrations
      sent += all
      while (receiver.arrived() - arrivedBefore < all || !(await isLevel(pool, tenant!))) await sleep(POLL_MS)
      const passed = (performance.now() - began) / 1000
      const after = await seconds()
      const result = {
        rate: all / passed,
        node: ((after.node - before.node) * 1000) / all,
        postgres: ((after.postgres - before.postgres) * 1000) / all,
        ...(await waits.stop()),
      }
      say(`  ${driver}: ${thousands(result.rate)}/s, ${result.node.toFixed(2)} + ${result.postgres.toFixed(2)} ms`)
      if (result.most) say(`    waited for locks, ${result.locks.toFixed(1)} %, most of all: ${result.most}`)
      return result
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    async finish() {
      const { rows } = await pool.query<{ n: number }>(COUNTED[way], [tenant!.environment])
      if (rows[0]!.n !== sent) throw new Error(`${sent} events, but ${rows[0]!.n} are recorded as sent once`)
      await Promise.all(processes.map(one => one.stop()))
      await redis?.end()
    },
  }
}
