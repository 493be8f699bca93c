import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { writeDump } from '../../store/dump/write.ts'
import { crashFixture, endLeases, expectWhole, partsOf } from '../harness/crash-fixture.ts'
import { WHOLE_YEAR } from '../harness/exports.ts'
import { DRIVERS, expectAllExecutedOnce, type Installation, startInstallation } from '../harness/installation.ts'
import { caughtUp, moreLoad, noLoad, seeded } from '../harness/load.ts'
import { type Running, run } from '../harness/process.ts'
import { startRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

// The one file of this folder that Deno runs, too.

/** As many kills a driver in one go; `npm run test:crash` asks for 200. */
const KILLS = Number(process.env.CRASH_KILLS ?? ('Deno' in globalThis ? 5 : 20))
const SEED = Number(process.env.CRASH_SEED ?? 20_261_121)

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** One in so many kills is a freeze instead, in whatever transaction the worker is, and one in so many has a backup beside it. */
const FREEZES = 5
const BACKUPS = 6
/** Longer than the leases; longer than a transaction that stands still may last. */
const FROZEN_MS = [1_500, 6_500]

/** The worker stands still while others take its work, and goes on. */
async function freeze({ child }: Running, ms: number): Promise<void> {
  process.kill(child.pid!, 'SIGSTOP')
  await delay(ms)
  process.kill(child.pid!, 'SIGCONT')
}

/** Writes a whole backup, as of one snapshot, while the load goes on. */
async function backUp({ pool }: Installation): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'perennial-backup-'))
  try {
    const dumped = await writeDump(pool.options.connectionString!, folder, { signal: new AbortController().signal, check: async () => {} })
    expect(dumped.tables.length).toBeGreaterThan(0)
  } finally {
    await rm(folder, { recursive: true })
  }
}

describe.each(DRIVERS)('over %s', driver => {
  test(
    `workers killed or frozen at ${KILLS} random moments under load, and backups meanwhile: every promise is kept, none twice`,
    async () => {
      const place = await startInstallation({ driver })
      undo.push(() => place.end())
      const random = seeded(SEED)
      const load = noLoad()
      const workers = await Promise.all([place.worker(), place.worker(), place.worker()])
      // Less while the next worker starts: much is to be under way at the moment of a kill.
      let pauseMs: number | null = 40
      const loading = (async () => {
        for (let round = 0; pauseMs !== null; round++) {
          await moreLoad(place.call, load, round)
          await caughtUp(place.pool)
          await delay(pauseMs ?? 0)
        }
      })()
      const backups: Promise<void>[] = []
      for (let kill = 0; kill < KILLS; kill++) {
        pauseMs = 40
        await delay(50 + random() * 400)
        const victim = Math.floor(random() * workers.length)
        if (random() * BACKUPS < 1) backups.push(backUp(place))
        if (random() * FREEZES < 1) {
          await freeze(workers[victim]!, FROZEN_MS[Math.floor(random() * FROZEN_MS.length)]!)
          continue
        }
        await workers[victim]!.end('SIGKILL')
        pauseMs = 400
        workers[victim] = await place.worker()
      }
      pauseMs = null
      await Promise.all([loading, ...backups])
      await expectAllExecutedOnce(place, load)
      // A kill and the start of the next worker take some seconds where many share the machine.
    },
    Math.max(600_000, KILLS * 9_000),
  )

  test('the worker of an export killed after 3, 60 and 119 parts: the export is whole, no row missing or doubled', async () => {
    const redis = driver === 'bullmq' ? await startRedis() : undefined
    if (redis) undo.push(() => redis.end())
    const site = await crashFixture({
      events: 3000,
      perBatch: 1000,
      people: 100,
      partRows: 25,
      more: redis ? { REDIS_URL: redis.url } : {},
    })
    undo.push(() => site.end())
    const { pool } = site.database
    const startWorker = async () => {
      const worker = await run({ env: site.env('worker') })
      undo.push(() => worker.end('SIGKILL'))
      return worker
    }
    const { id } = (await site.call('POST', '/v4/exports', { body: WHOLE_YEAR })).body
    for (const after of [3, 60, 119]) {
      const worker = await startWorker()
      await until(`${after} parts`, async () => (await partsOf(pool, id)) >= after || undefined)
      await worker.end('SIGKILL')
      await endLeases(pool)
    }
    await startWorker()
    await expectWhole(site, id, 3000)
  }, 120_000)
})
