// Broken promises are counted every few seconds, and there are most of them when something is wrong.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { activityOfAutomations } from '../../domain/automations/activity.ts'
import { readConditions } from '../../domain/oversight/alerts/conditions.ts'
import { countBroken } from '../../domain/oversight/reconciliation/broken.ts'
import { type FreshDatabase, freshDatabase, SERVERS } from '../harness/database.ts'
import { rowsRead } from '../harness/rows-read.ts'

const EACH = 11_000
const MOST_COUNTED = 10_000
const TABLES = ['integrations', 'deliveries', 'unsuccessful_runs']

describe.each(SERVERS)('on the %s Postgres', server => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase(server)
    const { pool } = database
    for (const table of TABLES) await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    await pool.query(`insert into projects (name) values ('Broken')`)
    await pool.query(`insert into environments (project, kind) select p.id, k from projects p, unnest(array['production', 'sandbox']) k`)
    await pool.query(
      `with made as (
         insert into integrations (environment, id, slug, title, target_platform, active, created_at, updated_at)
         select e.id, name, 'webhooks', 'Hook', 'iOS', case name when 'int_quiet' then 1 else 2 end, now(), now()
         from environments e, unnest(array['int_broken', 'int_quiet']) name returning number, environment, id)
       insert into deliveries (environment, id, integration, source, event_id, event_name, partition, log_offset, status, reason, created_at, ended_at)
       select m.environment, 'dlv_' || n, m.number, 'event', 'evt_' || n, 'opened', 0, n, 'failed', 'exhausted', now(),
         now() + case e.kind when 'sandbox' then interval '1 hour' else -n * interval '1 ms' end
       from made m join environments e on e.id = m.environment, generate_series(1, ${EACH}) n where m.id = 'int_broken'`,
    )
    await pool.query(
      `insert into unsuccessful_runs (environment, automation_id, status, created_at, id, number, finished_at)
       select e.id, 'aut', 'failed', now(), 'run' || n, n, now() + case e.kind when 'sandbox' then interval '1 hour' else -n * interval '1 ms' end
       from environments e, generate_series(1, ${EACH}) n`,
    )
    // Of earlier days.
    await pool.query(
      `insert into unsuccessful_runs (environment, automation_id, status, created_at, id, number, finished_at)
       select e.id, 'aut', 'failed', now(), 'old' || n, ${EACH} + n, now() - interval '2 days'
       from environments e, generate_series(1, ${EACH}) n where e.kind = 'production'`,
    )
  }, 120_000)
  afterAll(() => database.drop())

  const readFrom = async (read: () => Promise<unknown>): Promise<Record<string, number>> => {
    const before = await rowsRead([database.pool], TABLES)
    await read()
    const after = await rowsRead([database.pool], TABLES)
    return Object.fromEntries(TABLES.map(table => [table, after[table]! - before[table]!]))
  }

  test('the newest of a day are counted, and no more are read', async () => {
    const { pool } = database
    const found = { integrationsInError: 1, exhaustedDeliveries: MOST_COUNTED, failedAutomationRuns: MOST_COUNTED }
    const read = await readFrom(async () => expect(await countBroken(pool)).toEqual(found))
    expect(read.unsuccessful_runs).toBeLessThanOrEqual(MOST_COUNTED + 10)
    expect(read.deliveries).toBeLessThanOrEqual(MOST_COUNTED + 10)
  })

  test('what one automation or one integration has is read by its own index', async () => {
    const { pool } = database
    const { rows } = await pool.query<{ id: number }>(`select id from environments where kind = 'production'`)
    const environment = rows[0]!.id
    const activity = await readFrom(() => activityOfAutomations(pool, environment, ['another']))
    expect(activity.unsuccessful_runs).toBeLessThanOrEqual(10)
    await pool.query(`delete from integrations where environment = $1 and id = 'int_broken'`, [environment])
    const conditions = await readFrom(() => readConditions(pool, [environment]))
    expect(conditions.deliveries).toBeLessThanOrEqual(10)
  })
})
