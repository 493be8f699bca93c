import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { connect } from '../../store/connect.ts'
import { inTurn } from '../harness/effort.ts'
import { DRIVERS, expectAllExecutedOnce, type Installation, startInstallation } from '../harness/installation.ts'
import { caughtUp, moreLoad, noLoad } from '../harness/load.ts'
import { patient } from '../harness/patient.ts'
import { startPostgres, type TestPostgres } from '../harness/postgres-server.ts'
import type { Running } from '../harness/process.ts'

// Servers and processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 600_000 })

/** The statements are the same over both drivers: `npm run test:crash` stops the database over both, the ordinary suite over one. */
const STOPPED_OVER = inTurn(DRIVERS)

describe.each(DRIVERS)('over %s', driver => {
  let postgres: TestPostgres
  let site: Installation
  let workers: Running[]
  const load = noLoad()
  let round = 0
  beforeAll(async () => {
    postgres = await startPostgres()
    site = await startInstallation({ driver, database: postgres })
    workers = await Promise.all([site.worker(), site.worker()])
  })
  afterAll(() => site?.end())

  /** `hurt` is given what resolves when some more load has been taken. Afterwards everything must be there, once, and everybody alive. */
  async function underLoad(hurt: (some: () => Promise<unknown>) => Promise<void>): Promise<void> {
    const call = patient(site.call)
    let isOver = false
    const loading = (async () => {
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
    await hurt(some)
    isOver = true
    await loading
    await expectAllExecutedOnce({ ...site, call }, load)
    for (const { child } of [site.api, ...workers]) expect([child.exitCode, child.signalCode]).toEqual([null, null])
  }

  test('the database dies twice under load, API and workers live on: every promise is kept, none twice', () =>
    underLoad(async some => {
      for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
        await some()
        await postgres.crash(signal)
      }
    }))

  if (STOPPED_OVER.includes(driver))
    test('the database stands still under load for longer than every lease, and goes on: every promise is kept, none twice', () =>
      underLoad(async some => {
        await some()
        await postgres.freeze()
        // Whoever has not been connected before gives up, after ten seconds.
        const late = connect({ url: postgres.url, max: 1 })
        await expect(late.query('select 1')).rejects.toThrow('timeout')
        await late.end()
        await postgres.thaw()
      }))
})
