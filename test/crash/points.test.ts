import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { endLeases } from '../harness/crash-fixture.ts'
import { IS_WHOLE, inTurn, sampled } from '../harness/effort.ts'
import { expectFilesAsPromised, moreFiles, noFiles } from '../harness/files-load.ts'
import { DRIVERS, type Driver, expectAllExecutedOnce, type Installation, startInstallation } from '../harness/installation.ts'
import { caughtUp, isBehind, moreLoad, noLoad, seeded } from '../harness/load.ts'

/** At which of its passages a worker dies at each named point. */
const PASSAGES = { 'pg-boss': 1, bullmq: 7 }

/** What lies before these is brought by the driver, or what lies behind them is told to it: they are passed over both. */
const BESIDE_DRIVER: CrashPoint[] = ['claimed', 'ended']
/** The statements around these are the same over both drivers: `npm run test:crash` kills at each over both, a run of the suite at half of them over one. */
const WITHIN: Record<Driver, CrashPoint[]> = {
  'pg-boss': ['before-effect', 'recorded', 'consumed', 'delivery-recorded', 'before-planned-commit'],
  bullmq: ['after-effect', 'before-end', 'delivery-sent', 'before-commit'],
}
const pointsOver = (driver: Driver): CrashPoint[] => [
  ...BESIDE_DRIVER,
  ...(IS_WHOLE ? DRIVERS.flatMap(one => WITHIN[one]) : sampled(WITHIN[driver])),
]

let installation: Installation | undefined
afterEach(async () => {
  await installation?.end()
  installation = undefined
})

/**
 * Which passages of a point inside a transaction: consumers, deliveries and steps; workflows and timers. `npm run test:crash` freezes at all
 * of them over both drivers, the ordinary suite at one of each: no transaction knows the driver.
 */
const ALL_TRANSACTIONS: [CrashPoint, number][] = [
  ...[1, 4, 9].map((n): [CrashPoint, number] => ['before-planned-commit', n]),
  ...[2, 3, 5, 8].map((n): [CrashPoint, number] => ['before-commit', n]),
]
const transactionsOver = (driver: Driver): [CrashPoint, number][] =>
  IS_WHOLE ? ALL_TRANSACTIONS : [ALL_TRANSACTIONS[driver === 'pg-boss' ? 1 : 4]!]
/** Longer than the server leaves a transaction open in which nothing happens: the transaction is undone, and its work is another's. */
const FROZEN_MS = 6_500
/** One in so many rounds of the load asks for an export, too. */
const FILES = 5

describe.each(inTurn(DRIVERS))('over %s', driver => {
  test('a worker killed at each named point: every promise is kept, none twice', async () => {
    installation = await startInstallation({ driver })
    const load = noLoad()
    let round = 0
    for (const point of pointsOver(driver)) {
      let isDead = false
      void installation.dying(point, PASSAGES[driver]).then(() => {
        isDead = true
      })
      const end = performance.now() + 120_000
      while (!isDead) {
        if (performance.now() > end) throw new Error(`the worker never came to ${point}`)
        if (!(await isBehind(installation.pool, 50))) await moreLoad(installation.call, load, round++)
        await delay(30)
      }
      // Nobody else works: the next worker need not wait. That leases run out by themselves is tested by kills at random moments.
      await endLeases(installation.pool)
    }
    await installation.worker()
    await expectAllExecutedOnce(installation, load)
  }, 600_000)
})

describe.each(inTurn(DRIVERS))('over %s', driver => {
  test('a worker frozen inside transactions until others have its work, and then continued: every promise is kept, none twice', async () => {
    const site = await startInstallation({ driver, partRows: 20 })
    installation = site
    const load = noLoad()
    const files = noFiles(seeded(1))
    const frozenAt: string[] = []
    let round = 0
    for (const [point, passage] of transactionsOver(driver)) {
      const seen = frozenAt.length
      const frozen = await site.freezing(point, passage, FROZEN_MS, at => frozenAt.push(at))
      const other = await site.worker()
      for (const end = performance.now() + 60_000; frozenAt.length === seen; ) {
        if (performance.now() > end) throw new Error(`the worker was never continued at ${point}: ${frozen.output()}`)
        if (!(await isBehind(site.pool, 50))) {
          if (round % FILES === 0) await moreFiles(site, files)
          await moreLoad(site.call, load, round++)
        }
        await delay(300)
      }
      // It goes on beside its successor, and has the time to do harm.
      await moreLoad(site.call, load, round++)
      await caughtUp(site.pool, 0)
      await frozen.end('SIGKILL')
      expect(await other.end()).toBe(0)
    }
    await site.worker()
    await expectAllExecutedOnce(site, load)
    await expectFilesAsPromised(site, files)
    console.info(JSON.stringify(frozenAt))
  }, 600_000)
})
