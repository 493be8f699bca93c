import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EventInput } from '../../domain/events/item.ts'
import { appendBatch, appendItems } from '../../domain/ingestion/append.ts'
import type { Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { until } from '../harness/until.ts'

let api: TestApi
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.stop())

const environment = () => api.project.production
const MINUTE_MS = 60_000
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS).toISOString()

let count = 0
const event = (identity_id: string, minutes: number, fields: Partial<EventInput> = {}): EventInput => ({
  event_id: `new-users-${++count}`,
  event_name: 'app_opened',
  identity_id,
  happened_at: minutesAgo(minutes),
  ...fields,
})
const sale = (identity: string, minutes: number, fields: Partial<EventInput> = {}): EventInput =>
  event(identity, minutes, { event_name: 'in_app_purchase', platform: 'iOS', product_id: 'coins', price: '1', currency: 'USD', ...fields })

async function writesIn(tx: Tx, table: string): Promise<{ inserted: number; updated: number }> {
  const { rows } = await tx.query(
    'select n_tup_ins::int as inserted, n_tup_upd::int as updated from pg_stat_xact_user_tables where relname = $1',
    [table],
  )
  return rows[0]
}

async function usersNamed(identities: string[]) {
  const { rows } = await api.pool.query(
    `select u.identity_id, u.country, u.locale, u.app_version, u.first_country, u.media_source, s.sums
     from users u join stale_users s on s.environment = u.environment and s.user_no = u.no
     where u.environment = $1 and u.identity_id = any ($2) order by u.identity_id`,
    [environment(), identities],
  )
  return rows
}

test('a new user and the mark of the user are written once, with all that the batch tells', async () => {
  await transaction(api.pool, async tx => {
    const before = { users: await writesIn(tx, 'users'), marks: await writesIn(tx, 'stale_users') }
    const items = [
      sale('anna', 9, { device: { country: 'DE', locale: 'de' }, attribution: { media_source: 'Search' } }),
      event('anna', 5, { device: { country: 'FR' } }),
      event('bert', 5, { app: { version: '2.0' } }),
      event('carl', 5),
    ]
    const results = await appendItems(tx, environment(), items, true)
    expect(results.map(({ status }) => status)).toEqual(['created', 'created', 'created', 'created'])
    const after = { users: await writesIn(tx, 'users'), marks: await writesIn(tx, 'stale_users') }
    expect(after.users).toEqual({ inserted: before.users.inserted + 3, updated: before.users.updated })
    expect(after.marks).toEqual({ inserted: before.marks.inserted + 3, updated: before.marks.updated })
  })
  const unknown = { country: null, locale: null, app_version: null, first_country: null, media_source: null, sums: false }
  expect(await usersNamed(['anna', 'bert', 'carl'])).toEqual([
    { ...unknown, identity_id: 'anna', country: 'FR', locale: 'de', first_country: 'DE', media_source: 'Search', sums: true },
    { ...unknown, identity_id: 'bert', app_version: '2.0' },
    { ...unknown, identity_id: 'carl' },
  ])
})

test('each fact of a new user keeps what was known until then, not what the batch tells later', async () => {
  const items = [
    sale('dora', 9, { device: { country: 'DE' } }),
    event('dora', 8, { device: { country: 'FR' } }),
    sale('dora', 7),
    event('dora', 6, { device: { country: 'US' } }),
  ]
  await appendBatch(api.pool, environment(), items, true)
  const { rows } = await api.pool.query(
    `select e.known_country from events e join users u on u.environment = e.environment and u.id = e.user_id
     where u.identity_id = 'dora' and e.name = 'in_app_purchase' order by e.log_offset`,
  )
  expect(rows.map(({ known_country }) => known_country)).toEqual(['DE', 'FR'])
})

describe('a user whom a concurrent batch creates first', () => {
  test('has the events of both batches, and of each value the newest or the oldest', async () => {
    const waiting = async () => {
      const { rows } = await api.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into users%'`,
      )
      return rows[0]
    }
    let second: ReturnType<typeof appendBatch> | undefined
    const first = await transaction(api.pool, async tx => {
      const made = await appendItems(
        tx,
        environment(),
        [event('emil', 9, { device: { country: 'DE', locale: 'de' } }), event('emil', 3, { app: { version: '3.0' } })],
        true,
      )
      second = appendBatch(
        api.pool,
        environment(),
        [
          sale('emil', 12, { device: { country: 'US' }, app: { version: '2.0' } }),
          event('frida', 5),
          event('emil', 5, { device: { locale: 'fr' } }),
        ],
        true,
      )
      second.catch(() => {})
      await until('the second batch waits for the first one', waiting)
      return made
    })
    const results = [...first, ...(await second!)]
    expect(results.map(({ status }) => status)).toEqual(['created', 'created', 'created', 'created', 'created'])
    expect(await usersNamed(['emil', 'frida'])).toMatchObject([
      { identity_id: 'emil', country: 'DE', locale: 'fr', app_version: '3.0', first_country: 'US', sums: true },
      { identity_id: 'frida', sums: false },
    ])
    const { rows } = await api.pool.query(
      `select u.identity_id, count(*)::int as events, count(distinct e.partition)::int as partitions from events e
       join users u on u.environment = e.environment and u.id = e.user_id where u.identity_id in ('emil', 'frida') group by 1 order by 1`,
    )
    expect(rows).toEqual([
      { identity_id: 'emil', events: 4, partitions: 1 },
      { identity_id: 'frida', events: 1, partitions: 1 },
    ])
  })
})
