import { afterAll, beforeAll, expect, test } from 'vitest'
import { listDeliveries } from '../../domain/integrations/deliveries/list.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

// Lists find their rows by a selective index, even when the statistics of full tables are missing.
const DELIVERED = 20_000
let api: TestApi
let environment: number
let id: string
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
  await api.pool.query('alter table deliveries set (autovacuum_enabled = false)')
  id = await storedIntegration(api.pool, environment, { slug: 'webhooks' })
  await api.pool.query(
    `insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, status, ended_at, created_at)
     select $1, 'dlv_' || n, i.number, 'event', 'evt_' || n, 'opened', case when n % 1000 = 7 then 'ada' end, 0, n,
       case when n % 1000 = 0 then 'failed' when n % 2000 = 1 then 'retrying' else 'delivered' end,
       case when n % 2000 <> 1 then now() end, now() - make_interval(secs => n)
     from integrations i, generate_series(1, $2) n where i.id = $3`,
    [environment, DELIVERED, id],
  )
})
afterAll(() => api.stop())

async function walk(filter: Parameters<typeof listDeliveries>[3]['filter']) {
  const before = (await rowsRead([api.pool], ['deliveries'])).deliveries!
  const ids: string[] = []
  for (let after: string | undefined; ; ) {
    const page = await listDeliveries(api.pool, environment, id, { limit: 6, after, filter })
    expect(page.restarted).toBe(false)
    ids.push(...page.rows.slice(0, 6).map(row => row.id))
    if (page.rows.length <= 6) break
    after = ids.at(-1)
  }
  return { ids, read: (await rowsRead([api.pool], ['deliveries'])).deliveries! - before }
}
const numbered = (step: number, first: number) => Array.from({ length: DELIVERED / step }, (_, i) => `dlv_${first + i * step}`)

test.each([
  'without statistics',
  'with statistics',
])('a list of deliveries with a rare status, or of one user, reads only its page, %s', async how => {
  if (how === 'with statistics') await api.pool.query('analyze deliveries')
  const failed = await walk({ statuses: ['failed'] })
  expect(failed.ids).toEqual(numbered(1000, 1000))
  expect(failed.read).toBeLessThan(300)
  const retrying = await walk({ statuses: ['retrying'] })
  expect(retrying.ids).toEqual(numbered(2000, 1))
  expect(retrying.read).toBeLessThan(300)
  const held = await walk({ statuses: ['held'] })
  expect(held.ids).toEqual([])
  expect(held.read).toBeLessThan(300)
  const ofUser = await walk({ user: 'ada' })
  expect(ofUser.ids).toEqual(numbered(1000, 7))
  expect(ofUser.read).toBeLessThan(300)
})
