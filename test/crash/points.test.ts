import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, test } from 'vitest'
import type { CrashPoint } from '../../workflows/engine/crash-point.ts'
import { DRIVERS, expectAllExecutedOnce, type Installation, startInstallation } from '../harness/installation.ts'
import { isBehind, moreLoad, noLoad } from '../harness/load.ts'

/** At which of its passages a worker dies at each named point. */
const PASSAGES = { 'pg-boss': 1, bullmq: 7 }

let place: Installation | undefined
afterEach(async () => {
  await place?.end()
  place = undefined
})

describe.each(DRIVERS)('over %s', driver => {
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
    place = await startInstallation({ driver })
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
    await expectAllExecutedOnce(place, load)
  }, 600_000)
})
