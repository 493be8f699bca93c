import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, test } from 'vitest'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { client } from '../harness/client.ts'
import { freshDatabase } from '../harness/database.ts'
import { endLoad, expectKept, keptUp, type Load, layGround, moreLoad, noLoad, seeded, settled, sink } from '../harness/load.ts'
import { type Running, run, type SpawnOptions } from '../harness/process.ts'
import { startRedis } from '../harness/redis.ts'

const KEY = `sk_${'k'.repeat(40)}`
/** As many kills a driver in one go; `npm run test:crash` asks for 200. */
const KILLS = Number(process.env.CRASH_KILLS ?? 20)
const SEED = Number(process.env.CRASH_SEED ?? 20_261_121)
const DRIVERS = ['pg-boss', 'bullmq'] as const
/** At which of its passages a worker dies at a named point: the points are the same whatever rings. */
const PASSAGES = { 'pg-boss': [1, 17], bullmq: [5] }

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function site(driver: (typeof DRIVERS)[number]) {
  const database = await freshDatabase()
  undo.push(() => database.drop())
  const folder = await mkdtemp(join(tmpdir(), 'perennial-chaos-'))
  undo.push(() => rm(folder, { recursive: true, force: true }))
  const redis = driver === 'bullmq' ? await startRedis() : undefined
  if (redis) undo.push(() => redis.end())
  const env = (role: string, more: Record<string, string> = {}) => ({
    DATABASE_URL: database.url,
    APP_SECRET: 'a secret for tests only',
    BOOTSTRAP_SECRET_KEY: KEY,
    DATA_DIR: folder,
    ROLE: role,
    PORT: '0',
    LEASE_SECONDS: '1',
    LOG_LEVEL: 'fatal',
    ALLOW_PRIVATE_NETWORK: 'true',
    ...(redis && { REDIS_URL: redis.url }),
    ...more,
  })
  const begin = async (options: SpawnOptions): Promise<Running> => {
    const running = await run(options)
    undo.push(() => running.end('SIGKILL'))
    return running
  }
  const api = await begin({ env: env('api') })
  const to = await sink()
  undo.push(() => to.close())
  const call = client(api.url, KEY)
  const ground = await layGround(call, to.url)
  return {
    database,
    redis,
    call,
    sink: to,
    ground,
    worker: () => begin({ env: env('worker') }),
    dying: (point: CrashPoint, after: number) =>
      begin({ env: env('worker', { CRASH_POINT: point, CRASH_AFTER: String(after) }), script: 'test/crash/dying-worker.ts' }),
  }
}

async function expectAllKept({ call, database, ground, sink: to }: Awaited<ReturnType<typeof site>>, load: Load): Promise<void> {
  await endLoad(call, load)
  await settled(database.pool, 90_000)
  await expectKept(database.pool, call, load, ground, to)
}

describe.each(DRIVERS)('over %s', driver => {
  test(
    `workers killed at ${KILLS} random moments under load: every promise is kept, none twice`,
    async () => {
      const place = await site(driver)
      const random = seeded(SEED)
      const load = noLoad()
      const workers = await Promise.all([place.worker(), place.worker(), place.worker()])
      let isOver = false
      const loading = (async () => {
        for (let round = 0; !isOver; round++) {
          await moreLoad(place.call, load, round)
          await keptUp(place.database.pool)
          await delay(40)
        }
      })()
      for (let kill = 0; kill < KILLS; kill++) {
        await delay(50 + random() * 400)
        const victim = Math.floor(random() * workers.length)
        await workers[victim]!.end('SIGKILL')
        workers[victim] = await place.worker()
      }
      isOver = true
      await loading
      await expectAllKept(place, load)
      // A kill and the start of the next worker take some seconds where many share the machine.
    },
    Math.max(600_000, KILLS * 6_000),
  )

  const POINTS: CrashPoint[] = [
    'claimed',
    'before-effect',
    'after-effect',
    'recorded',
    'before-end',
    'ended',
    'consumed',
    'delivery-sent',
    'delivery-recorded',
  ]
  test('a worker killed at each named point, at several of its passages: every promise is kept, none twice', async () => {
    const place = await site(driver)
    const load = noLoad()
    let round = 0
    for (const point of POINTS) {
      for (const after of PASSAGES[driver]) {
        const dying = await place.dying(point, after)
        const ended = dying.child.exitCode === null ? new Promise(resolve => dying.child.once('close', resolve)) : Promise.resolve()
        let isDead = false
        void ended.then(() => {
          isDead = true
        })
        for (let n = 0; !isDead; n++) {
          if (n > 400) throw new Error(`the worker never came to ${point} for the ${after}th time`)
          await moreLoad(place.call, load, round++)
          await delay(50)
        }
      }
    }
    await place.worker()
    await expectAllKept(place, load)
  }, 300_000)
})
