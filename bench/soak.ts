import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../store/connect.ts'
import { EFFECTS, persist, receiveAt, untilNothingIsOutstanding } from './chaos/load.ts'
import { newDatabase } from './database.ts'
import { residentMemory } from './path/memory.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { option, quantile, type Result, round, say, table, thousands } from './report.ts'
import { withResources } from './resources.ts'
import { caller, event, sink } from './sink.ts'

const EVENT = 'bench.go'
const PEOPLE = 2_000
const BATCH = 10
/** What is written over and over, and must not grow with time. */
const BUSY = ['due', 'batches', 'ordering_keys', 'event_waits']

/**
 * Memory in MB; sizes in MB; `dead`: rows that wait for a vacuum in the busy tables, which have `busy` MB with their indexes; times in ms. `open`: jobs
 * that are due and not done, those under way too.
 */
type Look = {
  minutes: number
  api: number
  worker: number
  busy: number
  dead: number
  database: number
  p99: number
  open: number
  effects: number
}

async function databaseOf(pool: Pool): Promise<Pick<Look, 'busy' | 'dead' | 'database' | 'open'>> {
  const { rows } = await pool.query<Pick<Look, 'busy' | 'dead' | 'database' | 'open'>>(
    `select sum(pg_total_relation_size(relid))::float8 / 1e6 as busy, sum(n_dead_tup)::float8 as dead,
       pg_database_size(current_database()) / 1e6::float8 as database,
       (select count(*) from due where kind in ('automation-run', 'delivery') and due_at <= clock_timestamp())::int as open
     from pg_stat_user_tables where relname = any ($1)`,
    [BUSY],
  )
  return rows[0]!
}

/** A steady load for hours: does memory, a busy table or a time grow with it? */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const [hours, rate] = [option('hours', 1), option('rate', 50)]
    // Ten looks at least, however short it is.
    const every = Math.min(option('every', 60), (hours * 3_600) / 10)
    const database = await newDatabase(resources)
    const pool = openPool(resources, database, 2)
    const [tenant] = await createTenants(pool, 1)
    const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'error' }
    const [api, worker] = [await startProduct(resources, database, 'api', env), await startProduct(resources, database, 'worker', env)]
    const call = caller(api.url, tenant!.secretKey)
    const received = new Set<string>()
    await receiveAt(call, await sink(resources, (id, path) => received.add(path + id)))

    const looks: Look[] = []
    let times: number[] = []
    const began = performance.now()
    const end = began + hours * 3_600_000
    let nextLook = began + every * 1_000
    let posted = 0
    for (let n = 0; performance.now() < end; n++) {
      const some = Array.from({ length: BATCH }, (_, i) => event(EVENT, `go-${posted + i}`, `person-${(posted + i) % PEOPLE}`))
      const before = performance.now()
      // After hours one failure must not end the bench without its table: a refused batch is posted again, and its time counts.
      await persist(call, 'POST', '/v4/events', { events: some })
      times.push(performance.now() - before)
      posted += BATCH
      if (performance.now() >= nextLook) {
        nextLook += every * 1_000
        const p99 = quantile(
          times.sort((a, b) => a - b),
          0.99,
        )
        times = []
        const memory = { api: await residentMemory(api.pid), worker: await residentMemory(worker.pid) }
        looks.push({ minutes: (performance.now() - began) / 60_000, ...memory, ...(await databaseOf(pool)), p99, effects: received.size })
        say(JSON.stringify(looks.at(-1)))
      }
      await sleep(Math.max(0, began + ((n + 1) * BATCH * 1_000) / rate - performance.now()))
    }
    await untilNothingIsOutstanding(pool)
    await worker.stop()
    const lost = posted * EFFECTS - [...received].filter(key => key.includes('go-')).length
    const row = ({ minutes, api, worker, busy, dead, database, p99, open }: Look) =>
      [minutes, api, worker, busy, dead, database, p99, open].map(value => round(value, value < 10 ? 1 : 0).toString())
    // Twenty rows are enough to see a slope.
    const shown = looks.filter((_, n) => n % Math.ceil(looks.length / 20) === 0 || n === looks.length - 1)
    table(['minutes', 'API, MB', 'worker, MB', 'busy tables, MB', 'dead rows', 'database, MB', 'post p99, ms', 'open jobs'], shown.map(row))
    console.log(`${thousands(posted)} events, ${EFFECTS} effects each; not received: ${lost}`)
    if (lost !== 0) throw new Error(`${lost} effects are missing`)
    // Without the beginning, in which pools and caches fill.
    const [settled, last] = [looks[Math.floor(looks.length / 5)]!, looks.at(-1)!]
    const total = (look: Look) => look.api + look.worker
    return {
      name: 'soak',
      ours: round(total(last)),
      peer: round(total(settled)),
      ratio: round(total(last) / total(settled), 2),
      unit: 'MB',
      hours,
      p99: round(last.p99, 1),
    }
  })
