// The service in its own processes on the server of the system's package: its migrations and what people use it for.
import { expect, inject, test } from 'vitest'
import { freshDatabase } from '../harness/database.ts'
import { expectAllExecutedOnce, startInstallation } from '../harness/installation.ts'
import { caughtUp, moreLoad, noLoad } from '../harness/load.ts'

test('events become deliveries, and runs whose webhooks are delivered', async () => {
  const database = await freshDatabase('debian')
  const { rows } = await database.pool.query(`select current_setting('server_version_num')::int / 10000 as major`)
  expect(rows).toEqual([{ major: inject('debian').major }])
  const service = await startInstallation({ driver: 'pg-boss', database, leaseSeconds: 30 })
  try {
    await service.worker()
    const load = noLoad()
    for (let round = 0; round < 5; round++) await moreLoad(service.call, load, round)
    await caughtUp(service.pool)
    await expectAllExecutedOnce(service, load)
  } finally {
    await service.end()
  }
})
