import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { writeDump } from '../../store/dump/write.ts'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { crashFixture, endLeases, expectWhole, partsOf } from '../harness/crash-fixture.ts'
import { inTurn, sampled, share } from '../harness/effort.ts'
import { WHOLE_YEAR } from '../harness/exports.ts'
import { expectFilesAsPromised, expireFiles, type FilesLoad, moreFiles, noFiles, passAnHour } from '../harness/files-load.ts'
import { DRIVERS, expectAllExecutedOnce, type Installation, startInstallation } from '../harness/installation.ts'
import { caughtUp, moreLoad, noLoad, oneOf, seeded } from '../harness/load.ts'
import { unmount } from '../harness/outage.ts'
import { type Running, run } from '../harness/process.ts'
import { startRedis } from '../harness/redis.ts'
import { until } from '../harness/until.ts'

/** As many kills a driver in one go; `npm run test:crash` asks for 200. */
const KILLS = Number(process.env.CRASH_KILLS ?? share(6))
const EXPORTED_PARTS = sampled([3, 59])
const SEED = Number(process.env.CRASH_SEED ?? 20_261_121)

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** One in so many kills is a freeze instead, wherever the worker is; and one in so many has a backup or a storage outage beside it. */
const FREEZES = 5
const BACKUPS = 6
const OUTAGES = 3
/** One in so many workers that are started after a kill freezes at one of these points. */
const AT_POINT = 3
const POINTS: CrashPoint[] = [
  'claimed',
  'before-effect',
  'after-effect',
  'recorded',
  'before-end',
  'delivery-sent',
  'consumed',
  // Half of them: inside any transaction.
  ...Array<CrashPoint>(4).fill('before-commit'),
  ...Array<CrashPoint>(3).fill('before-planned-commit'),
]
const PASSAGES = 30
/** Longer than the leases; longer than a transaction that stands still may last. */
const FROZEN_MS = [1_500, 6_500]
const OUTAGE_MS = [1_000, 3_000, 6_000]
/** More exports than this at a time would only prolong the test. */
const UNFINISHED_EXPORTS = 8

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

/** The volume of the files goes and comes back. Meanwhile files may expire, and so many hours pass that attempts are used up. */
async function outage(installation: Installation, files: FilesLoad, ms: number, draw: number): Promise<void> {
  const mount = await unmount(installation.files, { mountPoint: draw % 2 === 0 })
  try {
    if (draw % 4 < 2) await expireFiles(installation, files)
    for (let left = ms; left > 0; left -= 500) {
      if (draw % 8 < 4) await passAnHour(installation)
      await delay(500)
    }
  } finally {
    await mount()
  }
}

const unfinishedExports = async ({ pool }: Installation): Promise<number> =>
  (await pool.query(`select 1 from exports where status in ('new', 'processing')`)).rowCount ?? 0

describe.each(inTurn(DRIVERS))('over %s', driver => {
  test(
    `workers killed or frozen at ${KILLS} random moments under load, backups and storage outages meanwhile: every promise is kept, none twice (CRASH_SEED=${SEED})`,
    async () => {
      const installation = await startInstallation({ driver, partRows: 20 })
      undo.push(() => installation.end())
      const random = seeded(SEED)
      // Of its own: what the other loop draws in the meantime must not matter.
      const files = noFiles(seeded(SEED + 1))
      const load = noLoad()
      const workers = await Promise.all([installation.worker(), installation.worker(), installation.worker()])
      // Less while the next worker starts: much is to be under way at the moment of a kill.
      let pauseMs: number | null = 40
      const loading = (async () => {
        for (let round = 0; pauseMs !== null; round++) {
          await moreLoad(installation.call, load, round)
          await caughtUp(installation.pool)
          await delay(pauseMs ?? 0)
        }
      })()
      const filing = (async () => {
        while (pauseMs !== null) {
          if ((await unfinishedExports(installation)) < UNFINISHED_EXPORTS) await moreFiles(installation, files)
          await delay(200)
        }
      })()
      const backups: Promise<void>[] = []
      let storage: Promise<void> | undefined
      const drawn = { kills: 0, freezes: 0, frozenAt: [] as string[], outages: 0 }
      for (let kill = 0; kill < KILLS; kill++) {
        pauseMs = 40
        await delay(50 + random() * 400)
        const victim = Math.floor(random() * workers.length)
        if (random() * BACKUPS < 1) backups.push(backUp(installation))
        const [isOutage, outageMs, draw] = [random() * OUTAGES < 1, oneOf(OUTAGE_MS, random), Math.floor(random() * 8)]
        if (isOutage && !storage) {
          drawn.outages++
          storage = outage(installation, files, outageMs, draw).finally(() => {
            storage = undefined
          })
        }
        if (random() * FREEZES < 1) {
          drawn.freezes++
          await freeze(workers[victim]!, oneOf(FROZEN_MS, random))
          continue
        }
        await workers[victim]!.end('SIGKILL')
        pauseMs = 400
        drawn.kills++
        const [isAtPoint, point, passage, ms] = [
          random() * AT_POINT < 1,
          oneOf(POINTS, random),
          random() * PASSAGES,
          oneOf(FROZEN_MS, random),
        ]
        // The first transaction is the one of the start.
        const freezing = () => installation.freezing(point, 2 + Math.floor(passage), ms, at => drawn.frozenAt.push(at))
        workers[victim] = isAtPoint ? await freezing() : await installation.worker()
      }
      pauseMs = null
      await Promise.all([loading, filing, storage, ...backups])
      await expectAllExecutedOnce(installation, load)
      const seen = await expectFilesAsPromised(installation, files)
      console.info(JSON.stringify({ CRASH_SEED: SEED, driver, ...drawn, backups: backups.length, ...seen }))
      // A kill and the start of the next worker take some seconds where many share the machine.
    },
    Math.max(600_000, KILLS * 30_000),
  )

  test(`the worker of an export killed after ${EXPORTED_PARTS.join(', ')} parts: the export is whole, no row missing or doubled`, async () => {
    const redis = driver === 'bullmq' ? await startRedis() : undefined
    if (redis) undo.push(() => redis.end())
    const site = await crashFixture({
      events: 1500,
      perBatch: 500,
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
    for (const after of EXPORTED_PARTS) {
      const worker = await startWorker()
      await until(`${after} parts`, async () => (await partsOf(pool, id)) >= after || undefined)
      await worker.end('SIGKILL')
      await endLeases(pool)
    }
    await startWorker()
    await expectWhole(site, id, 1500)
  }, 120_000)
})
