import { setTimeout as delay } from 'node:timers/promises'
import { startRedis } from '../test/harness/redis.ts'
import { newDatabase } from './database.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { option, type Result, round, table, thousands } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { caller, event, hookOn, sink, webhookTo } from './sink.ts'

const DRIVERS = ['BullMQ', 'pg-boss'] as const
const BATCH = 1_000
const HANG_MS = 10_000
const SAMPLES = 10

type Times = { alone: number; beside: number; queued: number }

/** Milliseconds from the accepted event of B to its request, the longest of several: alone, and while A's receiver hangs. */
async function measure(resources: Resources, driver: (typeof DRIVERS)[number], backlog: number): Promise<Times> {
  const database = await newDatabase(resources)
  const pool = openPool(resources, database)
  const [a, b] = await createTenants(pool, 2)
  const redis = driver === 'BullMQ' ? await startRedis() : undefined
  if (redis) resources.undo(() => redis.end())
  const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'error', ...(redis && { REDIS_URL: redis.url }) }
  const api = await startProduct(resources, database, 'api', env)
  const onArrival = new Map<string, () => void>()
  const quick = await sink(resources, id => onArrival.get(id)?.())
  const hanging = await sink(resources, () => {}, HANG_MS)
  const [asA, asB] = [caller(api.url, a!.secretKey), caller(api.url, b!.secretKey)]
  await hookOn(asB, 'bench.b', await webhookTo(asB, quick, []))
  const worker = await startProduct(resources, database, 'worker', env)
  let sent = 0
  const longest = async () => {
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
  await longest()
  const alone = await longest()
  // A's receiver hangs only from arrival on: before, the probe of the activation would hang, too.
  const to = await webhookTo(asA, quick, [])
  await hookOn(asA, 'bench.a', to)
  await pool.query(`update integrations set settings = jsonb_set(settings, '{url}', to_jsonb($2::text)) where id = $1`, [to, hanging])
  for (let n = 0; n < backlog; n += BATCH)
    await asA('POST', '/v4/events', {
      events: Array.from({ length: BATCH }, (_, i) => event('bench.a', `a-${n + i}`, `a-${(n + i) % 5_000}`)),
    })
  const beside = await longest()
  const { rows } = await pool.query<{ queued: number }>('select count(*)::int as queued from due where environment = $1', [a!.environment])
  await Promise.all([worker.stop(), api.stop()])
  await redis?.end()
  return { alone, beside, queued: rows[0]!.queued }
}

/** How much later a run of tenant B starts beside the backlog of tenant A, whose receiver hangs ten seconds a call. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const backlog = option('backlog', 100_000)
    const times = new Map<string, Times>()
    for (const driver of DRIVERS) times.set(driver, await measure(resources, driver, backlog))
    console.log(
      `one run of B, from its accepted event to its request, the longest of ${SAMPLES}; A has ${thousands(backlog)} runs to a receiver that hangs`,
    )
    table(
      ['driver', 'B alone, ms', 'beside A, ms', "A's due jobs then"],
      [...times].map(([driver, { alone, beside, queued }]) => [driver, alone.toFixed(0), beside.toFixed(0), thousands(queued)]),
    )
    const worst = [...times.values()].reduce((x, y) => (y.beside - y.alone > x.beside - x.alone ? y : x))
    return {
      name: 'fairness',
      ours: round(worst.beside),
      peer: round(worst.alone),
      ratio: round(worst.beside / worst.alone, 2),
      unit: 'ms',
    }
  })
