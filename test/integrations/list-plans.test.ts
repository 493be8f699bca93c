// A filter that few deliveries meet reads few rows, also without statistics.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listDeliveries } from '../../domain/integrations/deliveries/list.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { APP_SECRET, newProject } from '../harness/api.ts'
import { freshDatabase } from '../harness/database.ts'
import { rowsRead } from '../harness/rows-read.ts'
import { storedIntegration } from '../harness/stored-integration.ts'

const DELIVERIES = 20_000
let database: Awaited<ReturnType<typeof freshDatabase>>
let pool: Pool
let environment: number
let integration: string
beforeAll(async () => {
  database = await freshDatabase()
  await database.pool.query('alter table deliveries set (autovacuum_enabled = false)')
  pool = connect({ url: database.url, max: 1 })
  environment = (await newProject(pool, secretsFrom(APP_SECRET))).production
  integration = await storedIntegration(pool, environment, { slug: 'webhooks' })
  await pool.query(
    `insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, status, replay_id, created_at)
     select $1, 'dlv_' || n, i.number, 'event', 'evt_' || n, 'go', 0, n, 'delivered', case when n % 1000 = 1 then 'rpl_one' end,
       now() - n * interval '1 second'
     from generate_series(1, ${DELIVERIES}) n, integrations i where i.id = $2`,
    [environment, integration],
  )
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const read = async (): Promise<number> => (await rowsRead([pool], ['deliveries'])).deliveries!

test.each([
  ['the first page, and one more', undefined, 11],
  ['the last page', 'dlv_9001', 10],
])('the deliveries of a replay: %s', async (_name, after, count) => {
  const before = await read()
  const page = { limit: 10, after, filter: { replay: 'rpl_one' } }
  const { rows } = await listDeliveries(pool, environment, integration, page)
  expect(rows).toHaveLength(count)
  expect((await read()) - before).toBeLessThan(100)
})
