// Pages of any size are the whole list, in its order, without repeats, while entries are added.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SOURCES as READ, TIMELINE_KINDS, type TimelineKind } from '../../domain/oversight/timeline/sources.ts'
import { readTimeline, type TimelineRow } from '../../domain/oversight/timeline/timeline.ts'
import { startApi, type TestApi } from '../harness/api.ts'
import { storeUsers } from '../harness/customers.ts'
import { share } from '../harness/effort.ts'

let api: TestApi
let environment: number
beforeAll(async () => {
  api = await startApi()
  environment = api.project.production
  await storeUsers(api.pool, environment, [{ id: 'other' }])
  const run = (text: string) => api.pool.query(text, [environment])
  await run(`insert into experiments (environment, id, name, alias_id, context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
    select $1, 'exp_' || n, 'E' || n, 'alias' || n, '', false, '[]', now(), now() from generate_series(0, 199) n`)
  await run(`insert into experiment_groups (environment, id, experiment_id, is_control, weight, created_at, updated_at)
    select $1, 'grp_' || n, 'exp_' || n, true, 1, now(), now() from generate_series(0, 199) n`)
  await run(
    `insert into entitlements (environment, id, created_at, updated_at) select $1, 'ent_' || n, now(), now() from generate_series(0, 199) n`,
  )
  await run(`insert into lineages (environment, platform, lineage, user_id) values ($1, 'app_store', 'shared', 'other')`)
})
afterAll(() => api.stop())

type Added = { source: (typeof SOURCES)[number]; second: number }
const SOURCES = [
  'event',
  'payment',
  'refund',
  'grant',
  'expiry',
  'run',
  'delivery',
  'screen',
  'assignment',
  'change',
  'shared',
  'shared_refund',
] as const

/** Inserts the row of an entry. `n`: unlike those of all others. */
const INSERT: Record<(typeof SOURCES)[number], string> = {
  event: `insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at)
    values ($1, 3, $3::int, 'evt_' || $3::int, 'e' || $3::int, 'opened', $2::text, $4::timestamptz, $4::timestamptz)`,
  payment: `with l as (insert into lineages (environment, platform, lineage, user_id) values ($1, 'app_store', 'l' || $3::int, $2::text) returning id)
    insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price, amount,
      auto_renewing, purchased_at, created_at) select $1, id, $2::text, 'app_store', 'p', 't' || $3::int, false, 'USD', '1', 1, false, $4::timestamptz, $4::timestamptz from l`,
  // Bought before all others, so its purchase is the last entry.
  refund: `with l as (insert into lineages (environment, platform, lineage, user_id) values ($1, 'app_store', 'l' || $3::int, $2::text) returning id)
    insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price, amount,
      auto_renewing, purchased_at, created_at, refunded_at, refunded_amount)
    select $1, id, $2::text, 'app_store', 'p', 't' || $3::int, false, 'USD', '2', 2, false, '2020-01-01', $4::timestamptz, $4::timestamptz, 1 from l`,
  grant: `insert into audit_log (project, environment, id, created_at, actor_kind, operation, resource, resource_id, user_id, after)
    select project, $1, 'aud_' || $3::int, $4::timestamptz, 'cli', 'x', 'customer_permission', 'premium', $2::text, '{}' from environments where id = $1`,
  expiry: `insert into grants (environment, user_id, entitlement_id, starts_at, expires_at) values ($1, $2::text, 'ent_' || $3::int % 200, '2020-01-01', $4::timestamptz)
    on conflict do nothing`,
  run: `insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
      log_offset, position, created_at, status) values ($1, 'run_' || $3::int, 'auto', 1, $2::text, 'evt' || $3::int, 'opened', $4::timestamptz, $4::timestamptz, 3, $3::int, $3::int, $4::timestamptz, 'skipped')`,
  delivery: `insert into deliveries (environment, id, integration, source, event_id, event_name, user_id, partition, log_offset, created_at, status)
    values ($1, 'dlv_' || $3::int, 0, 'event', 'evt' || $3::int, 'opened', $2::text, 3, $3::int, $4::timestamptz, 'delivered')`,
  screen: `insert into pending_screens (environment, id, user_id, screen_id, automation_id, run_id, step_id, created_at, expires_at)
    values ($1, 'psc_' || $3::int, $2::text, 'scr', 'auto', 'run_' || $3::int, 's', $4::timestamptz, $4::timestamptz)`,
  assignment: `insert into experiment_assignments (environment, experiment_id, user_id, group_id, assigned_at)
    values ($1, 'exp_' || $3::int % 200, $2::text, 'grp_' || $3::int % 200, $4::timestamptz) on conflict do nothing`,
  change: `insert into audit_log (project, environment, id, created_at, actor_kind, operation, resource, resource_id, user_id)
    select project, $1, 'aud_' || $3::int, $4::timestamptz, 'cli', 'x', 'customer', $2::text, $2::text from environments where id = $1`,
  shared: `with p as (insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price,
      amount, auto_renewing, purchased_at, created_at) select $1, id, 'other', 'app_store', 'p', 't' || $3::int, false, 'USD', '1', 1, false, $4::timestamptz, $4::timestamptz
      from lineages where environment = $1 and lineage = 'shared' returning lineage)
    insert into lineage_shares (environment, lineage, user_id) select $1, lineage, $2::text from p on conflict do nothing`,
  shared_refund: `with l as (insert into lineages (environment, platform, lineage, user_id) values ($1, 'app_store', 's' || $3::int, 'other') returning id),
      p as (insert into purchases (environment, lineage, user_id, platform, store_product_id, transaction_id, is_subscription, currency, price,
      amount, auto_renewing, purchased_at, created_at, refunded_at) select $1, id, 'other', 'app_store', 'p', 't' || $3::int, false, 'USD', '1', 1, false,
      '2020-01-01', $4::timestamptz, $4::timestamptz from l returning lineage)
    insert into lineage_shares (environment, lineage, user_id) select $1, lineage, $2::text from p`,
}

let n = 0
const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}.25Z`
const add = (user: string, { source, second }: Added) => api.pool.query(INSERT[source], [environment, user, n++, at(second)])

async function pages(user: string, kinds: readonly TimelineKind[], limit: number, between: () => Promise<unknown> = async () => {}) {
  const found: TimelineRow[] = []
  for (let after: string | undefined; ; ) {
    const page = await readTimeline(api.pool, environment, user, { kinds, limit, after })
    expect(page.restarted).toBe(false)
    expect(page.rows.length).toBeLessThanOrEqual(limit)
    found.push(...page.rows)
    if (page.next === null) return found
    await between()
    after = page.next
  }
}
const kindOf = new Map(READ.map(({ name, kind }) => [name, kind]))
const nameOf = ({ source, key }: TimelineRow) => `${source} ${key}`

const added = fc.record({ source: fc.constantFrom(...SOURCES), second: fc.integer({ min: 10, max: 14 }) })

test('pages of any size, of any kinds', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(added, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 7 }),
      fc.subarray([...TIMELINE_KINDS], { minLength: 1 }),
      async (entries, limit, kinds) => {
        const user = `user_${n++}`
        await storeUsers(api.pool, environment, [{ id: user }])
        for (const entry of entries) await add(user, entry)
        const whole = await pages(user, TIMELINE_KINDS, 100)
        expect(new Set(whole.map(nameOf)).size).toBe(whole.length)
        const times = whole.map(row => row.at)
        expect(times).toEqual([...times].sort().reverse())
        const expected = whole.filter(({ source }) => kinds.includes(kindOf.get(source)!))
        // What is added above the page is not seen, and moves nothing.
        const newer = () => add(user, { source: 'event', second: 30 })
        expect(await pages(user, kinds, limit, newer)).toEqual(expected)
      },
    ),
    { numRuns: share(40), endOnFailure: true },
  )
})

test('every source has its entry once', async () => {
  const user = `user_${n++}`
  await storeUsers(api.pool, environment, [{ id: user }])
  const own = SOURCES.filter(name => !name.startsWith('shared'))
  for (const source of own) await add(user, { source, second: 10 })
  const found = (await pages(user, TIMELINE_KINDS, 3)).map(({ source }) => source)
  expect(found.sort()).toEqual([...own, 'payment'].sort())
})

test('a purchase that is shared has its refund, too', async () => {
  const user = `user_${n++}`
  await storeUsers(api.pool, environment, [{ id: user }])
  await add(user, { source: 'shared_refund', second: 10 })
  expect((await pages(user, ['purchase'], 1)).map(({ source }) => source)).toEqual(['refund', 'payment'])
})

test('a cursor of another form begins the list anew, whatever it is', async () => {
  const user = `user_${n++}`
  await storeUsers(api.pool, environment, [{ id: user }])
  await add(user, { source: 'payment', second: 10 })
  for (const after of [
    'x',
    '1.event',
    '1.nothing.x',
    '1.payment.x',
    `1.payment.${'9'.repeat(19)}`,
    '99999999999999999.event.x',
    '1.constructor.x',
  ]) {
    const page = await readTimeline(api.pool, environment, user, { kinds: TIMELINE_KINDS, limit: 1, after })
    expect([after, page.restarted, page.rows.length]).toEqual([after, true, 1])
  }
})
