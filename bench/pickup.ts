import { setTimeout as delay } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import { startRedis } from '../test/harness/redis.ts'
import { newDatabase } from './database.ts'
import { createTenants, openPool, startProduct } from './product.ts'
import { option, type Result, round, say, table } from './report.ts'
import { type Ground, onGround } from './resources.ts'
import { caller, event, hookOn, sink, webhookTo } from './sink.ts'

const DRIVERS = ['BullMQ', 'pg-boss'] as const
type Times = { p50: number; p99: number }

const WAYS = { 'integration delivery': 'bench.delivery', "automation's webhook": 'bench.automation' } as const

const quantile = (sorted: number[], q: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!
function timesOf(ms: number[]): Times {
  const sorted = ms.toSorted((a, b) => a - b)
  return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) }
}

/** 40 to 120 ms between two: nothing else goes on, and no beat of ours is met each time. */
const pause = () => delay(40 + Math.random() * 80)

async function ours(ground: Ground, driver: (typeof DRIVERS)[number], samples: number): Promise<Map<string, Times>> {
  const database = await newDatabase(ground)
  const [tenant] = await createTenants(openPool(ground, database), 1)
  const redis = driver === 'BullMQ' ? await startRedis() : undefined
  if (redis) ground.undo(() => redis.end())
  const env = { ALLOW_PRIVATE_NETWORK: 'true', LOG_LEVEL: 'warn', ...(redis && { REDIS_URL: redis.url }) }
  const api = await startProduct(ground, database, 'api', env)
  const worker = await startProduct(ground, database, 'worker', env)
  const arrived = new Map<string, number>()
  const heard = new Map<string, () => void>()
  const to = await sink(ground, id => {
    arrived.set(id, performance.now())
    heard.get(id)?.()
  })
  const call = caller(api.url, tenant!.secretKey)
  await webhookTo(call, to, [WAYS['integration delivery']])
  await hookOn(call, WAYS["automation's webhook"], await webhookTo(call, to, []))
  const seen = new Map<string, Times>()
  for (const [way, name] of Object.entries(WAYS)) {
    const ms: number[] = []
    // The first tenth warms up.
    for (let n = -Math.ceil(samples / 10); n < samples; n++) {
      const id = `${name}-${n + samples}`
      const here = new Promise<void>(resolve => heard.set(id, resolve))
      await call('POST', '/v4/events', { events: [event(name, id, `person-${n % 50}`)] })
      const accepted = performance.now()
      await here
      if (n >= 0) ms.push(Math.max(0, arrived.get(id)! - accepted))
      await pause()
    }
    seen.set(way, timesOf(ms))
    say(`  ${driver}, ${way}: p50 ${timesOf(ms).p50.toFixed(1)} ms`)
  }
  await Promise.all([worker.stop(), api.stop()])
  await redis?.end()
  return seen
}

/** From `send` to the handler, one at a time. */
async function bare(samples: number, send: (n: number) => Promise<unknown>, heard: Map<number, () => void>): Promise<Times> {
  const ms: number[] = []
  for (let n = 0; n < samples; n++) {
    const here = new Promise<void>(resolve => heard.set(n, resolve))
    const began = performance.now()
    await send(n)
    await here
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
  const heard = new Map<number, () => void>()
  const queue = new Queue('bare', { connection })
  const worker = new Worker('bare', async job => heard.get(job.data.n)?.(), { connection })
  await worker.waitUntilReady()
  const times = await bare(samples, n => queue.add('n', { n }), heard)
  await worker.close()
  await queue.close()
  await redis.end()
  return times
}

async function barePgBoss(ground: Ground, samples: number): Promise<Times> {
  const boss = new PgBoss({ connectionString: await newDatabase(ground), useListenNotify: true })
  await boss.start()
  const heard = new Map<number, () => void>()
  await boss.createQueue('bare', { notify: true })
  await boss.work<{ n: number }>('bare', async jobs => {
    for (const { data } of jobs) heard.get(data.n)?.()
  })
  const times = await bare(samples, n => boss.send('bare', { n }), heard)
  await boss.stop({ graceful: false })
  return times
}

/** How long an accepted event takes to reach a receiver, by both ways and over both drivers, while nothing else goes on. */
export const bench = (): Promise<Result> =>
  onGround(async ground => {
    const samples = option('samples', 200)
    const rows: [string, Times][] = [
      ['bare BullMQ, add to handler', await bareBullmq(samples)],
      ['bare pg-boss with notices, send to handler', await barePgBoss(ground, samples)],
    ]
    const all: Times[] = []
    for (const driver of DRIVERS)
      for (const [way, times] of await ours(ground, driver, samples)) {
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
