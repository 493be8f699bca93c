import { setTimeout as delay } from 'node:timers/promises'
import { startRedis } from '../test/harness/redis.ts'
import { newDatabase } from './database.ts'
import { appendUnread, unreadEvents } from './fairness/unread.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { option, type Result, round, say, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { type Caller, caller, event, hookOn, sink, webhookTo } from './sink.ts'

const DRIVERS = ['BullMQ', 'pg-boss'] as const
type Driver = (typeof DRIVERS)[number]
const NOISY = 3
const BATCH = 1_000
const HANG_MS = 10_000
const SAMPLES = 10

/** `left`: what the noisy tenants had still to do when tenant B was done. */
type Times = { alone: number; beside: number; left: number }
type Measured = { driver: Driver; what: string; times: Times }

/** Milliseconds from the accepted event of B to its request, the longest of several. */
function sampling(asB: Caller, onArrival: Map<string, () => void>) {
  let sent = 0
  return async () => {
    let most = 0
    for (let n = 0; n < SAMPLES; n++) {
      const id = `b-${sent++}`
      const arrival = new Promise<void>(resolve => onArrival.set(id, resolve))
      await asB('POST', '/v4/events', { events: [event('bench.b', id, 'b')] })
      const accepted = performance.now()
      await arrival
      most = Math.max(most, performance.now() - accepted)
      await delay(200)
    }
    return most
  }
}

/** Tenant B beside tenants whose receivers hang, and beside tenants with unread events; each on a database of its own. */
async function measure(resources: Resources, driver: Driver, beside: 'queued' | 'unread', size: number): Promise<Times> {
  say(`${driver}: ${NOISY} tenants, ${thousands(size)} ${beside}`)
  const database = await newDatabase(resources)
  const pool = openPool(resources, database)
  const [b, ...noisy] = await createTenants(pool, NOISY + 1)
  const redis = driver === 'BullMQ' ? await startRedis() : undefined
  if (redis) resources.undo(() => redis.end())
  const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'error', ...(redis && { REDIS_URL: redis.url }) }
  const api = await startProduct(resources, database, 'api', env)
  const onArrival = new Map<string, () => void>()
  const quick = await sink(resources, id => onArrival.get(id)?.())
  const hanging = await sink(resources, () => {}, HANG_MS)
  const asB = caller(api.url, b!.secretKey)
  await hookOn(asB, 'bench.b', await webhookTo(asB, quick, []))
  const worker = await startProduct(resources, database, 'worker', env)
  const longest = sampling(asB, onArrival)
  await longest()
  const alone = await longest()
  const callers = noisy.map(({ secretKey }) => caller(api.url, secretKey))
  for (const call of callers) {
    // The receiver hangs only from arrival on: before, the probe of the activation would hang, too.
    const to = await webhookTo(call, quick, [])
    await hookOn(call, 'bench.noise', to)
    await pool.query(`update integrations set settings = jsonb_set(settings, '{url}', to_jsonb($2::text)) where id = $1`, [to, hanging])
  }
  const environments = noisy.map(({ environment }) => environment)
  if (beside === 'unread') {
    await Promise.all(environments.map(environment => appendUnread(pool, environment, size, 'bench.other')))
  } else {
    for (let n = 0; n < size; n += BATCH)
      await Promise.all(
        callers.map(call =>
          call('POST', '/v4/events', {
            events: Array.from({ length: BATCH }, (_, i) => event('bench.noise', `a-${n + i}`, `a-${(n + i) % 5_000}`)),
          }),
        ),
      )
  }
  const most = await longest()
  const queued = await pool.query<{ n: number }>('select count(*)::int as n from due where environment = any ($1)', [environments])
  const left = beside === 'unread' ? await unreadEvents(pool, environments) : queued.rows[0]!.n
  await Promise.all([worker.stop(), api.stop()])
  await redis?.end()
  return { alone, beside: most, left }
}

/** How much later a run of tenant B starts beside three tenants with a backlog: of runs to a receiver that hangs, and of unread events. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const backlog = option('backlog', 100_000)
    const unread = option('unread', 1_000_000)
    const all: Measured[] = []
    for (const driver of DRIVERS) {
      all.push({ driver, what: `${thousands(backlog)} runs each`, times: await measure(resources, driver, 'queued', backlog) })
      all.push({ driver, what: `${thousands(unread)} unread events each`, times: await measure(resources, driver, 'unread', unread) })
    }
    console.log(
      `one run of B, from its accepted event to its request, the longest of ${SAMPLES}; beside ${NOISY} tenants whose receivers hang`,
    )
    table(
      ['driver, beside', 'B alone, ms', 'beside them, ms', 'left to them then'],
      all.map(({ driver, what, times: { alone, beside, left } }) => [
        `${driver}, ${what}`,
        alone.toFixed(0),
        beside.toFixed(0),
        thousands(left),
      ]),
    )
    const worst = all.map(({ times }) => times).reduce((x, y) => (y.beside - y.alone > x.beside - x.alone ? y : x))
    return {
      name: 'fairness',
      ours: round(worst.beside),
      peer: round(worst.alone),
      ratio: round(worst.beside / worst.alone, 2),
      unit: 'ms',
    }
  })
