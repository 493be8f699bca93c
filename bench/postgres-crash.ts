import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type Pool } from '../store/connect.ts'
import { migrate } from '../store/migrate.ts'
import { startPostgres } from '../test/harness/postgres-server.ts'
import { startRedis } from '../test/harness/redis.ts'
import { createTenants, startProduct } from './product.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { type Caller, caller, event, hookOn, sink, webhookTo } from './sink.ts'

const BATCH = 50
const APIS = 2
const WORKERS = 3
/** Part of the load after which the server is killed: the tables are large by then, and few of them were analyzed. */
const KILLED_AFTER = 0.8
const POLL_MS = 250

type Times = { drained: number; ledger: number; lost: number; twice: number }

/** Repeats a request until it succeeds: the database may be away. A repeated event is stored once, by its id. */
async function persist(call: Caller, ...request: Parameters<Caller>): Promise<void> {
  for (;;) {
    try {
      await call(...request)
      return
    } catch (error) {
      say(`again: ${error instanceof Error ? error.message.slice(0, 80) : error}`)
      await sleep(POLL_MS)
    }
  }
}

async function outstanding(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select (select count(*) from due where kind in ('automation-run', 'delivery'))
       + (select coalesce(sum(l.next_offset - c.next_offset), 0) from log_consumers c join log_positions l using (environment, partition)) as n`,
  )
  return rows[0]!.n
}

/** Seconds from the first event until nothing is outstanding, while the events come at an even pace; and what the ledger took right after. */
async function measure(resources: Resources, events: number, seconds: number, isKilled: boolean): Promise<Times> {
  const postgres = await startPostgres()
  resources.undo(() => postgres.drop())
  const url = new URL(postgres.url)
  await migrate(url.href)
  const pool = connect({ url: url.href, max: 2, name: 'bench' })
  resources.undo(() => pool.end())
  const [tenant] = await createTenants(pool, 1)
  const redis = await startRedis()
  resources.undo(() => redis.end())
  const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'error', REDIS_URL: redis.url }
  const apis = await Promise.all(Array.from({ length: APIS }, () => startProduct(resources, url.href, 'api', env)))
  const calls = apis.map(api => caller(api.url, tenant!.secretKey))
  const received = new Map<string, number>()
  const to = await sink(resources, (id, path) => received.set(path + id, (received.get(path + id) ?? 0) + 1))
  await webhookTo(calls[0]!, `${to}/events`, ['bench.go'])
  await hookOn(calls[0]!, 'bench.go', await webhookTo(calls[0]!, `${to}/runs`, []))
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => startProduct(resources, url.href, 'worker', env)))

  const began = performance.now()
  let killed: Promise<void> | undefined
  const batches = events / BATCH
  for (let n = 0; n < batches; n++) {
    if (isKilled && !killed && n >= batches * KILLED_AFTER) killed = postgres.crash('SIGKILL')
    const some = Array.from({ length: BATCH }, (_, i) => event('bench.go', `go-${n * BATCH + i}`, `person-${(n * BATCH + i) % 2_000}`))
    await persist(calls[n % APIS]!, 'POST', '/v4/events', { events: some })
    await sleep(Math.max(0, began + ((n + 1) * seconds * 1_000) / batches - performance.now()))
  }
  await killed
  const beforeLedger = performance.now()
  await persist(calls[0]!, 'GET', '/v4/ledger')
  const ledger = performance.now() - beforeLedger
  while ((await outstanding(pool).catch(() => 1)) > 0) await sleep(POLL_MS)
  const drained = (performance.now() - began) / 1_000
  await Promise.all([...workers, ...apis].map(one => one.stop()))
  const sent = [...received].filter(([key]) => key.includes('go-'))
  return { drained, ledger, lost: 2 * events - sent.length, twice: sent.filter(([, count]) => count > 1).length }
}

/** How long the work of a steady load takes beside one in which the database server is killed: nothing may be lost. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const events = option('events', 6_000)
    const seconds = option('seconds', 60)
    const calm = await measure(resources, events, seconds, false)
    const killed = await measure(resources, events, seconds, true)
    console.log(
      `${thousands(events)} events in ${seconds} s, each a delivery and a run with a webhook; ${APIS} API and ${WORKERS} worker processes over BullMQ`,
    )
    const row = (name: string, { drained, ledger, lost, twice }: Times) => [
      name,
      drained.toFixed(1),
      ledger.toFixed(0),
      String(lost),
      String(twice),
    ]
    table(
      ['database', 'all done after, s', 'ledger, ms', 'not received', 'received again'],
      [row('undisturbed', calm), row('postmaster killed', killed)],
    )
    return {
      name: 'postgres-crash',
      ours: round(killed.drained, 1),
      peer: round(calm.drained, 1),
      ratio: round(killed.drained / calm.drained, 2),
      unit: 's',
      lost: killed.lost,
    }
  })
