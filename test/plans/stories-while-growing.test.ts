// A page of a long story, of the events of a user or of a name, and a search read few rows, also with plans of the time when the tables were empty.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listEventsAfter } from '../../domain/events/list-after.ts'
import { SEARCHED_KINDS, search } from '../../domain/oversight/search/search.ts'
import { TIMELINE_KINDS } from '../../domain/oversight/timeline/sources.ts'
import { readTimeline } from '../../domain/oversight/timeline/timeline.ts'
import { secretsFrom } from '../../domain/projects/secrets.ts'
import { connect, type Pool } from '../../store/connect.ts'
import { APP_SECRET, newProject } from '../harness/api.ts'
import { type FreshDatabase, freshDatabase, SERVERS } from '../harness/database.ts'
import { rowsRead } from '../harness/rows-read.ts'

const OFTEN = 3_000
const TABLES = [
  'events',
  'purchases',
  'audit_log',
  'grants',
  'automation_runs',
  'deliveries',
  'pending_screens',
  'experiment_assignments',
  'users',
]

/** Of one user very much, and as much of others. `n % 2`: whose it is. */
const FILL = [
  `insert into users (environment, id, created_at, last_seen_at, properties)
   select $1, case n when 0 then 'busy' else 'user_' || n end, now(), now(), jsonb_build_object('_q_email', 'mail' || n || '@example.org')
   from generate_series(0, ${OFTEN}) n`,
  `insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
   select $1, n % 64, n, 'evt_' || n, 'e' || n, case n % 100 when 0 then 'rare' else 'opened' end, OWNER, AT, AT from MANY`,
  `insert into lineages (environment, platform, lineage, user_id) select $1, 'app_store', 'l' || n, OWNER from MANY`,
  `insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price, amount,
     auto_renewing, purchased_at, created_at, refunded_at, refunded_amount)
   select environment, id, user_id, platform, 'p', lineage, false, 'USD', '1', 1, false, t, t, case when id % 10 < 2 then t end, 1
   from (select l.*, now() - id * interval '1 second' as t from lineages l) l where environment = $1`,
  `insert into audit_log (project, environment, id, created_at, actor_kind, operation, resource, resource_id, user_id)
   select e.project, $1, 'aud_' || n, AT, 'cli', 'x', case when n % 100 < 2 then 'user_entitlement' else 'customer' end, OWNER, OWNER
   from environments e, MANY where e.id = $1`,
  `insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition, log_offset,
     position, created_at, status) select $1, 'run_' || n, 'auto_' || n % 5, 1, OWNER, 'evt_' || n, 'opened', AT, AT, 3, n, n, AT, 'skipped' from MANY`,
  `insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, created_at, status)
   select $1, 'dlv_' || n, n % 5, 'event', 'evt_' || n, 'opened', OWNER, 3, n, AT, 'delivered' from MANY`,
  `insert into pending_screens (environment, id, user_id, screen_id, automation_id, run_id, step_id, created_at, expires_at)
   select $1, 'psc_' || n, OWNER, 'scr', 'auto', 'run_' || n, 's', AT, AT from MANY`,
].map(text =>
  text
    .replaceAll('OWNER', `case when n % 2 = 0 then 'busy' else 'user_' || 1 + n / 2 end`)
    .replaceAll('AT', `now() - n * interval '1 second'`)
    .replaceAll('MANY', `generate_series(0, ${2 * OFTEN - 1}) n`),
)

describe.each(SERVERS)('on the %s Postgres', server => {
  let database: FreshDatabase
  let pool: Pool
  let environment: number
  const after = (micros: number) => `${micros}.event.evt_1`

  const reads: Record<string, () => Promise<{ count: number }>> = {
    'the first page of a story': async () => ({
      count: (await readTimeline(pool, environment, 'busy', { kinds: TIMELINE_KINDS, limit: 20, after: undefined })).rows.length,
    }),
    'a page in the middle of a story': async () => ({
      count: (
        await readTimeline(pool, environment, 'busy', { kinds: TIMELINE_KINDS, limit: 20, after: after((Date.now() - 3_000_000) * 1000) })
      ).rows.length,
    }),
    'a page of refunds and of access': async () => ({
      count: (await readTimeline(pool, environment, 'busy', { kinds: ['purchase', 'access'], limit: 20, after: undefined })).rows.length,
    }),
    'a page of the events of a user': async () => ({
      count: (await listEventsAfter(pool, environment, { filter: { ...ALL, user: 'busy' }, order: 'desc', limit: 20, after: 'evt_2000' }))
        .rows.length,
    }),
    'a page of the events of a name': async () => ({
      count: (
        await listEventsAfter(pool, environment, { filter: { ...ALL, names: ['opened'] }, order: 'asc', limit: 20, after: 'evt_2000' })
      ).rows.length,
    }),
    'a search that finds very many': async () => ({ count: (await search(pool, environment, 'mail', SEARCHED_KINDS)).length }),
    'a search for a run': async () => ({ count: (await search(pool, environment, 'run_77', SEARCHED_KINDS)).length }),
    'a search for a transaction': async () => ({ count: (await search(pool, environment, 'l78', SEARCHED_KINDS)).length }),
  }
  const ALL = { names: undefined, user: undefined, from: undefined, to: undefined }

  beforeAll(async () => {
    database = await freshDatabase(server)
    for (const table of TABLES) await database.pool.query(`alter table ${table} set (autovacuum_enabled = false)`)
    // One connection, whose statements were prepared while there was nothing.
    pool = connect({ url: database.url, max: 1, planOnce: true })
    environment = (await newProject(pool, secretsFrom(APP_SECRET))).production
    await pool.query(`insert into users (environment, id, created_at, last_seen_at) values ($1, 'busy', now(), now())`, [environment])
    for (const read of Object.values(reads)) for (let i = 0; i < 7; i++) await read()
    await pool.query(`delete from users`)
    for (const text of FILL) await pool.query(text, [environment])
  }, 120_000)
  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  test.each(['without statistics', 'with statistics'])('%s', { timeout: 120_000 }, async statistics => {
    if (statistics === 'with statistics') {
      await pool.query('analyze')
      await pool.query('discard plans')
    }
    const all: unknown[] = []
    for (const [name, read] of Object.entries(reads)) {
      const before = await rowsRead([pool], TABLES)
      const { count } = await read()
      const now = await rowsRead([pool], TABLES)
      expect([name, count > 0]).toEqual([name, true])
      const most = name.includes('story') ? 60 : 120
      const excess = TABLES.map(table => [table, now[table]! - before[table]!] as const).filter(([, rows]) => rows > most)
      if (excess.length > 0) all.push([name, excess])
    }
    expect(all).toEqual([])
  })
})
