import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Statement, StoreReport } from '../../../domain/purchases/store-facts/statement.ts'
import { startApi, type TestApi } from '../../harness/api.ts'
import { share } from '../../harness/effort.ts'
import { product, userOf } from '../../harness/purchases.ts'
import { record } from './reports.ts'
import { STORIES } from './stories.ts'

// Notifications of a connected store in random orders, some of them twice, through the database. The sandbox has a clock that can be advanced
// until nothing waits any more.

let api: TestApi
beforeAll(async () => {
  api = await startApi()
  await product(api, { id: 'monthly', apple_product_id: 'm' }, api.project.sandbox)
  await product(api, { id: 'annual', apple_product_id: 'y' }, api.project.sandbox)
})
afterAll(() => api.stop())

const ORDERS = share(2)

/** The statements of a notification with transactions that no other run of the story has. */
function reportOf(run: string, recorded: Statement[], accountId: string): StoreReport {
  const named = (subject: string) => (subject === '' ? '' : `${run}-${subject}`)
  const statements = recorded.map((statement): Statement => {
    const subject = named(statement.subject)
    if (statement.kind === 'renewal') return { ...statement, subject }
    return { ...statement, subject, ids: { ...statement.ids, transaction: subject, originalTransaction: named('t1') } }
  })
  return { platform: 'app_store', lineage: named('t1'), aliases: [], accountId, statements, notices: [], isWhole: false }
}

const FACTS = `
select replace(transaction_id, $2 || '-', '') as transaction, price, purchased_at, expires_at, period_type, auto_renewing, auto_renew_changes,
  billing_retry_at, grace_period_expires_at, refunded_at, refunded_amount, taken_back, access_until::text, run_started_at, is_last
from purchases where user_id = $1 order by purchased_at, transaction_id`

// The time of detection depends on the order: it is left out.
const EVENTS = `
select name, replace(transaction_id, $2 || '-', '') as transaction, count(*)::int as times, sum(price)::float8 as value,
  min(happened_at) filter (where name !~ 'canceled|retry|refund|change|paused|resumed') as at
from events where user_id = $1 and name <> 'trial_still_active' group by 1, 2 order by 1, 2`

type Shown = { name: string; transaction: string; times: number; value: number | null; at: string | null }

/** Refunds are emitted one by one or together: by their sum. Cancellations, pauses and planned products are counted over the lineage: in all. */
function shownEvents(rows: Shown[]) {
  const counted = rows.filter(({ name }) => /_canceled$|_paused$|_resumed$|_change_/.test(name))
  const times = Map.groupBy(counted, ({ name }) => name)
  return {
    counted: [...times].map(([name, of]) => [name, of.reduce((sum, row) => sum + row.times, 0)]),
    others: rows
      .filter(row => !counted.includes(row))
      .map(({ times, ...event }) => (event.name.includes('refund') ? event : { ...event, times })),
  }
}

test('the same purchases, access and events follow in every order', async () => {
  const runs = new Map<string, { story: string; user: string }>()
  for (const { name, notifications } of STORIES) {
    const random = fc.sample(fc.shuffledSubarray(notifications, { minLength: notifications.length }), { numRuns: ORDERS, seed: 11 })
    for (const order of [notifications, ...random]) {
      const run = `run${runs.size}`
      const user = await userOf(api, api.project.sandbox)
      runs.set(run, { story: name, user })
      for (const recorded of [...order, order[0]!]) await record(api.pool, api.project.sandboxEnvironment, [reportOf(run, recorded, user)])
    }
  }
  const advanced = await api.call('POST', '/v4/test-clock/advance', { key: api.project.sandbox, body: { by: 'P4D' } })
  expect(advanced.status).toBe(200)
  const expected = new Map<string, object>()
  for (const [run, { story, user }] of runs) {
    const facts = (await api.pool.query(FACTS, [user, run])).rows
    const events = shownEvents((await api.pool.query<Shown>(EVENTS, [user, run])).rows)
    const userState = (await api.pool.query('select status, payments_count from users where id = $1', [user])).rows[0]
    const known = expected.get(story)
    if (known === undefined) expected.set(story, { facts, events, userState })
    else expect({ story, facts, events, userState }).toEqual({ story, ...known })
  }
  expect(expected.size).toBe(STORIES.length)
})
