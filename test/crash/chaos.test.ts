import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, test } from 'vitest'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { DRIVERS, type Driver, expectAllKept, type Installation, startInstallation } from '../harness/installation.ts'
import { isBehind, keptUp, moreLoad, noLoad, seeded } from '../harness/load.ts'

/** As many kills a driver in one go; `npm run test:crash` asks for 200. */
const KILLS = Number(process.env.CRASH_KILLS ?? 20)
const SEED = Number(process.env.CRASH_SEED ?? 20_261_121)
/** At which of its passages a worker dies at each named point. */
const PASSAGES = { 'pg-boss': 1, bullmq: 7 }

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

async function site(driver: Driver): Promise<Installation> {
  const place = await startInstallation({ driver })
  undo.push(() => place.end())
  return place
}

describe.each(DRIVERS)('over %s', driver => {
  test(
    `workers killed at ${KILLS} random moments under load: every promise is kept, none twice`,
    async () => {
      const place = await site(driver)
      const random = seeded(SEED)
      const load = noLoad()
      const workers = await Promise.all([place.worker(), place.worker(), place.worker()])
      // Less while the next worker starts: much is to be under way at the moment of a kill.
      let pauseMs: number | null = 40
      const loading = (async () => {
        for (let round = 0; pauseMs !== null; round++) {
          await moreLoad(place.call, load, round)
          await keptUp(place.pool)
          await delay(pauseMs ?? 0)
        }
      })()
      for (let kill = 0; kill < KILLS; kill++) {
        pauseMs = 40
        await delay(50 + random() * 400)
        const victim = Math.floor(random() * workers.length)
        await workers[victim]!.end('SIGKILL')
        pauseMs = 400
        workers[victim] = await place.worker()
      }
      pauseMs = null
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
  test('a worker killed at each named point: every promise is kept, none twice', async () => {
    const place = await site(driver)
    const load = noLoad()
    let round = 0
    for (const point of POINTS) {
      let isDead = false
      void place.dying(point, PASSAGES[driver]).then(() => {
        isDead = true
      })
      const end = performance.now() + 120_000
      while (!isDead) {
        if (performance.now() > end) throw new Error(`the worker never came to ${point}`)
        if (!(await isBehind(place.pool, 50))) await moreLoad(place.call, load, round++)
        await delay(30)
      }
    }
    await place.worker()
    await expectAllKept(place, load)
  }, 600_000)
})
