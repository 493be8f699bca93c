import { partitionOf } from '../domain/durable/log/partition.ts'
import type { Pool } from '../store/connect.ts'
import { userId } from '../store/ids.ts'
import { transaction } from '../store/transaction.ts'
import { withoutIndexes } from '../test/harness/large-tables.ts'
import { say, thousands } from './report.ts'

/** Rows of one insert: enough to make the cost of planning small, few enough to sort in memory. */
const SLICE = 100_000
/** Between two events of the seeded log, over all projects: ten million events take 330 days, and the window of an export may have 366. */
const STEP_SECONDS = 2.85

/** When the first event of a seeded log was received. */
export const seedStart = (): Date => new Date(Date.now() - 340 * 86_400_000)

const userIds = (count: number): string[] => Array.from({ length: count }, userId)

/** Users like those of a real project: half with an identity, a third with properties, all with a device. User k is in environment k mod n. */
export async function seedUsers(pool: Pool, environments: number[], count: number): Promise<string[]> {
  const ids = userIds(count)
  const owners = ids.map((_, k) => environments[k % environments.length]!)
  await pool.query('create table if not exists bench_users (k int primary key, environment int, partition smallint, id text collate "C")')
  await pool.query('insert into bench_users select * from unnest($1::int[], $2::int[], $3::smallint[], $4::text[])', [
    ids.map((_, k) => k),
    owners,
    ids.map((id, k) => partitionOf(owners[k]!, id)),
    ids,
  ])
  await pool.query(
    `insert into users (environment, id, created_at, last_seen_at, identity_id, properties, platform, device_id, device_model, os_version, locale,
       country, app_version, sdk_version, known_at, media_source, campaign, attributed_at)
     select environment, id, $1::timestamptz - interval '1 day', clock_timestamp(), case when k % 2 = 0 then 'customer-' || k end,
       case when k % 3 = 0 then jsonb_build_object('_q_email', 'person' || k || '@example.com', 'plan', 'annual', 'cohort', (k % 12)::text)
         else '{}'::jsonb end,
       case when k % 3 = 0 then 'Android' else 'iOS' end, md5(id), 'iPhone17,' || k % 5, '19.' || k % 4, 'en_US',
       (array['US', 'DE', 'JP', 'BR'])[k % 4 + 1], '4.' || k % 30, '7.1.0', $1::timestamptz,
       case when k % 5 = 0 then 'Apple Search Ads' end, case when k % 5 = 0 then 'spring' end, case when k % 5 = 0 then $1::timestamptz end
     from bench_users`,
    [seedStart()],
  )
  return ids
}

// As the product writes them: offsets without gaps per partition, and times of receipt that never decrease within a partition.
const INSERT = `
with generated as (
  select n, u.environment, u.partition, u.k, u.id as user_id, $3::timestamptz + n * make_interval(secs => $4) as received_at,
    (n % 10)::int as kind, case when u.k % 3 = 0 then 'Android' else 'iOS' end as platform, (array[9.99, 4.99, 49.99])[n % 3 + 1]::numeric as amount
  from generate_series($1::bigint, $2::bigint) n join bench_users u on u.k = (n * 2654435761 % 4294967296) % $5
), numbered as (
  select d.*, p.next_offset + row_number() over (partition by d.environment, d.partition order by n) - 1 as log_offset
  from generated d join log_positions p on p.environment = d.environment and p.partition = d.partition
), written as (
  insert into events (environment, partition, log_offset, id, event_id, name, user_id, happened_at, received_at, platform, product_id,
    transaction_id, original_transaction_id, transaction_date, transaction_expires_at, price, currency, proceeds, price_usd, proceeds_usd,
    device_id, device_model, os_version, locale, country, app_id, app_name, app_version, sdk_version, media_source, campaign, properties,
    transaction_key)
  select environment, partition, log_offset, 'evt_' || lpad(to_hex(n), 12, '0') || substr(md5(n::text), 1, 8), 'order-' || n || '-event',
    (array['subscription_started', 'subscription_renewed', 'in_app_purchase', 'trial_started', 'subscription_canceled',
      'screen_viewed', 'paywall_opened', 'button.pressed', 'lesson_finished', 'app_opened'])[kind + 1],
    user_id, received_at - (n % 600) * interval '1 second', received_at, platform,
    case when kind < 5 then 'com.example.annual' end,
    case when kind < 3 then '2000' || lpad(n::text, 12, '0') end, case when kind < 3 then '2000' || lpad(k::text, 12, '0') end,
    case when kind < 3 then received_at end, case when kind < 2 then received_at + interval '1 month' end,
    case when kind < 3 then amount end, case when kind < 3 then 'USD' end, case when kind < 3 then round(amount * 0.85, 2) end,
    case when kind < 3 then amount end, case when kind < 3 then round(amount * 0.85, 2) end,
    case when n % 2 = 0 then md5(user_id) end, case when n % 2 = 0 then 'iPhone17,' || k % 5 end, case when n % 2 = 0 then '19.1' end,
    case when n % 2 = 0 then 'en_US' end, case when n % 2 = 0 then 'US' end,
    case when n % 3 > 0 then 'com.example.app' end, case when n % 3 > 0 then 'Example' end, case when n % 3 > 0 then '4.2.0' end,
    case when n % 3 > 0 then '7.1.0' end, case when n % 10 = 7 then 'Apple Search Ads' end, case when n % 10 = 7 then 'spring' end,
    case when kind >= 5 and n % 2 = 0 then jsonb_build_object('source', 'checkout', 'attempt', n % 5, 'gift', n % 7 = 0) end,
    case when kind < 3 then platform || ':2000' || lpad(n::text, 12, '0') end
  from numbered order by n returning environment, partition, received_at
)
update log_positions p set next_offset = p.next_offset + w.rows, last_received_at = w.last
from (select environment, partition, count(*) as rows, max(received_at) as last from written group by environment, partition) w
where p.environment = w.environment and p.partition = w.partition`

/** How long so many events of a seeded log take. */
export const seedMs = (events: number): number => events * STEP_SECONDS * 1000

/**
 * Inserts events `from` (0 at first) to `to` of the log, which begins at `start`, of the users of seedUsers, then vacuums and analyses. No other
 * process may write.
 */
export async function seedEvents(pool: Pool, users: number, from: number, to: number, start: Date = seedStart()): Promise<void> {
  say(`seeding ${thousands(to - from)} events`)
  // Row by row, maintaining the indexes costs more than the rows: ten million would take a quarter of an hour.
  await withoutIndexes(pool, 'events', async () => {
    for (let n = from; n < to; n += SLICE) {
      const last = Math.min(n + SLICE, to) - 1
      await transaction(pool, tx => tx.query(INSERT, [n, last, start, STEP_SECONDS, users]))
    }
  })
  await pool.query('vacuum (analyze) events')
  await pool.query('vacuum (analyze) users')
  // The dirty pages of the seed must not be written during a measurement.
  await pool.query('checkpoint')
}
