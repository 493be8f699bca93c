import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { LOCK } from '../../../store/advisory-locks.ts'
import type { Pool } from '../../../store/connect.ts'
import { startStoreSweeps } from '../../../workers/store-sweeps.ts'
import type { Sweeps } from '../../../workflows/stores/sweep/sweep.ts'
import { until } from '../../harness/until.ts'
import { sweepStage } from './sweep-stage.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const stage = sweepStage()
const { sweeping, rows, swept, sources, requestedHistory, attempted, bought } = stage

describe('processes', () => {
  test('two of them sweep once', async () => {
    await stage.stores.connectApple()
    for (let index = 0; index < 45; index++) attempted(bought())
    // Both look while one of them is at the second page.
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    stage.stopAfterwards({ begin() {}, stop: async () => release() })
    const sweepsHeld: Sweeps = {
      apple: {
        ...stage.sweeps.apple!,
        async *pages(range, context) {
          for await (const page of stage.sweeps.apple!.pages(range, context)) {
            yield page
            await held
          }
        },
      },
    }
    const log = pino({ level: 'silent' })
    const start = (pool: Pool) => {
      const one = startStoreSweeps({ pool, secrets: stage.stores.api.secrets, sweeps: sweepsHeld, log, periodMs: 5 })
      stage.stopAfterwards(one)
      return one
    }
    start(stage.stores.api.pool)
    await until('the first page', async () => (await sources()).length >= 20 || undefined)
    start(stage.otherPool)
    /** The other one has tried: each of its attempts opens a session of its own, and closes it. */
    const otherLook = async () => {
      let isRemoved = false
      stage.otherPool.once('remove', () => {
        isRemoved = true
      })
      await until('the other has looked', () => isRemoved || undefined, 10_000)
    }
    for (let look = 0; look < 3; look++) await otherLook()
    release()
    await swept()
    expect(requestedHistory()).toHaveLength(3)
    expect(await sources()).toHaveLength(45)
    await stage.stores.settled()
  })

  test('one that ends between two pages leaves the interval to another, which records each notification once', async () => {
    await stage.stores.connectApple()
    for (let index = 0; index < 45; index++) attempted(bought())
    stage.stores.apple.override = ({ query }) => (query.has('paginationToken') ? 'hang' : null)
    const first = sweeping()
    await until('the second page', () => requestedHistory().some(({ query }) => query.has('paginationToken')) || undefined)
    await first.stop()
    expect(await sources()).toHaveLength(20)
    const [, left] = [await rows(), (await rows()).find(({ kind }) => kind === 'production')!]
    expect(left).toMatchObject({ done: false, attempts: 0 })
    expect(left.until).toBeGreaterThanOrEqual(DAY / 1000)
    stage.stores.apple.override = null
    sweeping(stage.otherPool)
    await swept()
    expect(await sources()).toHaveLength(45)
    await stage.stores.settled()
  })

  test('one that is killed loses the sweep at once', async () => {
    await stage.stores.connectApple()
    attempted(bought())
    stage.stores.apple.override = () => 'hang'
    sweeping(stage.otherPool)
    await until('Apple is asked', () => requestedHistory().length > 0 || undefined)
    // The sessions of a killed process end, whatever it was at.
    await stage.stores.api.pool.query(`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = $1`, [
      LOCK.storeSweep,
    ])
    stage.stores.apple.override = null
    sweeping()
    await swept()
    expect(await sources()).toEqual(['sweep'])
    await stage.stores.settled()
  })
})
