import { afterEach, describe, expect, test, vi } from 'vitest'
import { keptUp, moreLoad, noLoad } from '../harness/load.ts'
import { patient } from '../harness/patient.ts'
import { startPostgres } from '../harness/postgres-server.ts'
import { DRIVERS, expectAllKept, type Site, startSite } from '../harness/site.ts'

// Servers and processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 600_000 })

let site: Site | undefined
afterEach(async () => {
  await site?.end()
  site = undefined
})

describe.each(DRIVERS)('over %s', driver => {
  test('the database dies twice under load, API and workers live on: every promise is kept, none twice', async () => {
    const postgres = await startPostgres()
    site = await startSite({ driver, database: postgres })
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
        await keptUp(postgres.pool, 60).catch(() => {})
      }
    })()
    // A failure is seen when it is waited for.
    loading.catch(() => {})
    for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
      const before = load.pings.size
      await vi.waitUntil(() => load.pings.size >= before + 20, { timeout: 150_000, interval: 5 })
      await postgres.crash(signal)
    }
    isOver = true
    await loading
    await expectAllKept({ ...site, call }, load)
    for (const { child } of [site.api, ...workers]) expect([child.exitCode, child.signalCode]).toEqual([null, null])
  })
})
