import { afterEach, describe, expect, test, vi } from 'vitest'
import { connect } from '../../store/connect.ts'
import { DRIVERS, type Driver, expectAllExecutedOnce, type Installation, startInstallation } from '../harness/installation.ts'
import { caughtUp, moreLoad, noLoad } from '../harness/load.ts'
import { patient } from '../harness/patient.ts'
import { startPostgres, type TestPostgres } from '../harness/postgres-server.ts'

// Servers and processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 600_000 })

let site: Installation | undefined
afterEach(async () => {
  await site?.end()
  site = undefined
})

/** `hurt` is given what resolves when some more load has been taken. Afterwards everything must be there, once, and everybody alive. */
async function underLoad(driver: Driver, hurt: (postgres: TestPostgres, some: () => Promise<unknown>) => Promise<void>): Promise<void> {
  const postgres = await startPostgres()
  site = await startInstallation({ driver, database: postgres })
  const call = patient(site.call)
  const workers = await Promise.all([site.worker(), site.worker()])
  const load = noLoad()
  let isOver = false
  const loading = (async () => {
    let round = 0
    // Some after it is back, so that what comes new is kept as well.
    for (let after = 0; after < 3; after += isOver ? 1 : 0) {
      await moreLoad(call, load, round++)
      // Cannot be asked while the database is away.
      await caughtUp(postgres.pool, 60).catch(() => {})
    }
  })()
  const some = () => {
    const before = load.pings.size
    const taken = vi.waitUntil(() => load.pings.size >= before + 20, { timeout: 150_000, interval: 5 })
    // What has ended the load is the reason, not that it does not go on.
    return Promise.race([loading, taken])
  }
  await hurt(postgres, some)
  isOver = true
  await loading
  await expectAllExecutedOnce({ ...site, call }, load)
  for (const { child } of [site.api, ...workers]) expect([child.exitCode, child.signalCode]).toEqual([null, null])
}

describe.each(DRIVERS)('over %s', driver => {
  test('the database dies twice under load, API and workers live on: every promise is kept, none twice', () =>
    underLoad(driver, async (postgres, some) => {
      for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
        await some()
        await postgres.crash(signal)
      }
    }))

  test('the database stands still under load for longer than every lease, and goes on: every promise is kept, none twice', () =>
    underLoad(driver, async (postgres, some) => {
      await some()
      await postgres.freeze()
      // Whoever has not been connected before gives up, after ten seconds.
      const late = connect({ url: postgres.url, max: 1 })
      await expect(late.query('select 1')).rejects.toThrow('timeout')
      await late.end()
      await postgres.thaw()
    }))
})
