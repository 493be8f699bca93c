import { setTimeout as delay } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import { startRedis } from '../test/harness/redis.ts'
import { newDatabase } from './database.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { option, quantile, type Result, round, say, table } from './report.ts'
import { type Resources, withResources } from './resources.ts'
import { caller, event, hookOn, sink, webhookTo } from './sink.ts'

const DRIVERS = ['BullMQ', 'pg-boss'] as const
type Times = { p50: number; p99: number }

const WAYS = { 'integration delivery': 'bench.delivery', "automation's webhook": 'bench.automation' } as const

function timesOf(ms: number[]): Times {
  const sorted = ms.toSorted((a, b) => a - b)
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}

/** A random pause of 40 to 120 ms between two samples, so that they do not fall in step with a polling interval of the product. */
const pause = () => delay(40 + Math.random() * 80)

async function ours(resources: Resources, driver: (typeof DRIVERS)[number], samples: number): Promise<Map<string, Times>> {
  const database = await newDatabase(resources)
  const [tenant] = await createTenants(openPool(resources, database), 1)
  const redis = driver === 'BullMQ' ? await startRedis() : undefined
  if (redis) resources.undo(() => redis.end())
  const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'warn', ...(redis && { REDIS_URL: redis.url }) }
  const api = await startProduct(resources, database, 'api', env)
  const worker = await startProduct(resources, database, 'worker', env)
  const arrived = new Map<string, number>()
  const onArrival = new Map<string, () => void>()
  const to = await sink(resources, id => {
    arrived.set(id, performance.now())
    onArrival.get(id)?.()
  })
  const call = caller(api.url, tenant!.secretKey)
  await webhookTo(call, to, [WAYS['integration delivery']])
  await hookOn(call, WAYS["automation's webhook"], await webhookTo(call, to, []))
  const times = new Map<string, Times>()
  for (const [way, name] of Object.entries(WAYS)) {
    const ms: number[] = []
    // A tenth more samples run first, to warm up.
    for (let n = -Math.ceil(samples / 10); n < samples; n++) {
      const id = `${name}-${n + samples}`
      const arrival = new Promise<void>(resolve => onArrival.set(id, resolve))
      await call('POST', '/v4/events', { events: [event(name, id, `person-${n % 50}`)] })
      const accepted = performance.now()
      await arrival
      if (n >= 0) ms.push(Math.max(0, arrived.get(id)! - accepted))
      await pause()
    }
    times.set(way, timesOf(ms))
    say(`  ${driver}, ${way}: p50 ${timesOf(ms).p50.toFixed(1)} ms`)
  }
  await Promise.all([worker.stop(), api.stop()])
  await redis?.end()
  return times
}

/** Times from `send` to the handler, one job at a time. */
async function bare(samples: number, send: (n: number) => Promise<unknown>, onArrival: Map<number, () => void>): Promise<Times> {
  const ms: number[] = []
  for (let n = 0; n < samples; n++) {
    const arrival = new Promise<void>(resolve => onArrival.set(n, resolve))
    const began = performance.now()
    await send(n)
    await arrival
    ms.push(performance.now() - began)
    await pause()
  }
  return timesOf(ms)
}

async function bareBullmq(samples: number): Promise<Times> {
  const { Queue, Worker } = await import('bullmq')
  const redis = await startRedis()
  const { hostname: host, port } = new URL(redis.url)
  const connection = { host, port: Number(port), maxRetriesPerRequest: null }
  const onArrival = new Map<number, () => void>()
  const queue = new Queue('bare', { connection })
  const worker = new Worker('bare', async job => onArrival.get(job.data.n)?.(), { connection })
  await worker.waitUntilReady()
  const times = await bare(samples, n => queue.add('n', { n }), onArrival)
  await worker.close()
  await queue.close()
  await redis.end()
  return times
}

async function barePgBoss(resources: Resources, samples: number): Promise<Times> {
  const boss = new PgBoss({ connectionString: await newDatabase(resources), useListenNotify: true })
  await boss.start()
  const onArrival = new Map<number, () => void>()
  await boss.createQueue('bare', { notify: true })
  await boss.work<{ n: number }>('bare', async jobs => {
    for (const { data } of jobs) onArrival.get(data.n)?.()
  })
  const times = await bare(samples, n => boss.send('bare', { n }), onArrival)
  await boss.stop({ graceful: false })
  return times
}

/** How long an accepted event takes to reach a receiver, both ways and over both drivers, on an idle installation. */
export const bench = (): Promise<Result> =>
  withResources(async resources => {
    const samples = option('samples', 200)
    const rows: [string, Times][] = [
      ['bare BullMQ, add to handler', await bareBullmq(samples)],
      ['bare pg-boss with notifications, send to handler', await barePgBoss(resources, samples)],
    ]
    const all: Times[] = []
    for (const driver of DRIVERS)
      for (const [way, times] of await ours(resources, driver, samples)) {
        rows.push([`${way}, over ${driver}`, times])
        all.push(times)
      }
    console.log(`event accepted by HTTP until its request is at the receiver, ${samples} samples, 40 to 120 ms apart`)
    table(
      ['', 'p50 ms', 'p99 ms'],
      rows.map(([name, { p50, p99 }]) => [name, p50.toFixed(1), p99.toFixed(1)]),
    )
    const worst = { p50: Math.max(...all.map(({ p50 }) => p50)), p99: Math.max(...all.map(({ p99 }) => p99)) }
    const peer = rows[1]![1].p50
    return {
      name: 'pickup',
      ours: round(worst.p50, 1),
      peer: round(peer, 1),
      ratio: round(worst.p50 / peer, 2),
      unit: 'ms',
      p99: round(worst.p99, 1),
    }
  })
