// What was set aside is counted every few seconds for the alerts of all projects, and there is most of it when something is wrong.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConditions } from '../../domain/oversight/alerts/conditions.ts'
import { type FreshDatabase, freshDatabase, SERVERS } from '../harness/database.ts'
import { rowsRead } from '../harness/rows-read.ts'

const EACH = 11_000
const MOST_COUNTED = 10_000
/** What one look may read: of two kinds of notifications, and of two consumers. */
const MOST_READ = { store_inbox: 2 * MOST_COUNTED, set_aside_events: 2 * MOST_COUNTED, store_acknowledgements: MOST_COUNTED }
const TABLES = Object.keys(MOST_READ)

describe.each(SERVERS)('on the %s Postgres', server => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase(server)
    const { pool } = database
    for (const table of TABLES) await pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    await pool.query(`insert into projects (name) values ('Broken')`)
    await pool.query(`insert into environments (project, kind) select p.id, k from projects p, unnest(array['production', 'sandbox']) k`)
    await pool.query(
      `with lanes as (insert into store_lanes (project, platform, name) select id, 'google', 'token' from projects returning id, project)
     insert into store_inbox (project, platform, environment, lane, notification_id, type, stated_at, body, source, state, reason)
     select l.project, 'google', e.id, l.id, 'n' || coalesce(e.id, 0) || '-' || n, '4', 0, '', 'push', 'set_aside', 'unreadable ' || n
     from lanes l, lateral (select id from environments where project = l.project union all select null) e, generate_series(1, ${EACH}) n`,
    )
    await pool.query(
      `insert into set_aside_events (consumer, environment, partition, log_offset, event_id, error)
     select c, e.id, 0, n, 'evt', 'poison ' || n from environments e, unnest(array['automations', 'integrations']) c, generate_series(1, ${EACH}) n`,
    )
    await pool.query(
      `with l as (insert into lineages (environment, platform, lineage) select id, 'play_store', 'token' from environments returning id, environment)
     insert into store_acknowledgements (environment, lineage, token, created_at)
     select environment, id, n::text, now() - interval '2 days' from l, generate_series(1, ${EACH}) n`,
    )
  }, 120_000)
  afterAll(() => database.drop())

  test('the newest of an environment are counted, and no row of another one is read', async () => {
    const { pool } = database
    const { rows } = await pool.query<{ id: number }>(`select id from environments order by kind, id limit 1`)
    const before = await rowsRead([pool], TABLES)
    const found = await readConditions(pool, [rows[0]!.id])
    const after = await rowsRead([pool], TABLES)
    expect(found.map(({ kind, holder, count, detail }) => ({ kind, holder, count, detail }))).toEqual([
      { kind: 'store_alert', holder: 'google', count: MOST_COUNTED, detail: null },
      { kind: 'store_notifications_set_aside', holder: 'google', count: MOST_COUNTED, detail: `unreadable ${EACH}` },
      { kind: 'events_set_aside', holder: 'automations', count: MOST_COUNTED, detail: `poison ${EACH}` },
      { kind: 'events_set_aside', holder: 'integrations', count: MOST_COUNTED, detail: `poison ${EACH}` },
    ])
    for (const [table, most] of Object.entries(MOST_READ))
      expect([table, after[table]! - before[table]!]).toEqual([table, expect.toSatisfy(n => n <= most + 10)])
  })
})
