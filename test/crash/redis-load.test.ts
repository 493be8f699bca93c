import { afterEach, expect, test, vi } from 'vitest'
import { expectAllExecutedOnce, type Installation, startInstallation } from '../harness/installation.ts'
import { caughtUp, moreLoad, noLoad } from '../harness/load.ts'

// Processes start and leases run out in real time, on a machine that runs other tests beside.
vi.setConfig({ testTimeout: 120_000 })

let site: Installation | undefined
afterEach(async () => {
  await site?.end()
  site = undefined
})

test('Redis emptied and killed while automations and deliveries are under way: every promise is kept, none twice', async () => {
  site = await startInstallation({ driver: 'bullmq' })
  const { redis, call, pool } = site
  await Promise.all([site.worker(), site.worker()])
  const load = noLoad()
  let round = 0
  const rounds = async (count: number) => {
    for (let i = 0; i < count; i++) await moreLoad(call, load, round++)
  }
  for (const befalls of [() => redis!.flush(), () => redis!.kill()]) {
    await rounds(5)
    await befalls()
    await rounds(5)
    await caughtUp(pool)
  }
  await redis!.start()
  await redis!.flush()
  await rounds(5)
  await expectAllExecutedOnce(site, load)
  // It is in use again, not only done without.
  expect(await redis!.execute('DBSIZE')).not.toBe(':0\r\n')
})
