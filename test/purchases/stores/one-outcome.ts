import fc from 'fast-check'
import { expect } from 'vitest'
import { share } from '../../harness/effort.ts'
import type { ReachedStores } from '../../harness/stores/reached-stores.ts'
import { until } from '../../harness/until.ts'

export const ORDERS = Number(process.env.STORES_ORDERS ?? share(6))
export const LIMIT_MS = ORDERS * 6_000

const FACTS = `
  select store_product_id, price, purchased_at, expires_at, period_type, auto_renewing, auto_renew_changes, off_causes, billing_retry_at,
    grace_period_expires_at, refunded_at, refunded_amount, taken_back, access_until::text, run_started_at, is_last
  from purchases where environment = $1 and user_id = $2 order by purchased_at, id`

// The time of detection depends on the order, and so does in how many parts a refund is emitted. What happens several times in a lineage is counted
// over it, whichever of its purchases the event names. A planned product is in answers alone: a plan that was carried out or taken back before
// the store was asked is not emitted.
const EVENTS = `
  select e.name, case when e.name !~ 'canceled|paused|resumed' then p.purchased_at end as purchase, e.reason, e.is_voluntary, e.is_discounted,
    sum(e.price)::float8 as value, case when e.name ~ 'refund' then 1 else count(*)::int end as times,
    min(e.happened_at) filter (where e.name !~ 'canceled|retry|refund|paused|resumed') as at
  from events e left join purchases p on p.id = e.purchase
  where e.environment = $1 and e.user_id = $2 and e.name <> 'trial_still_active' and e.name !~ 'product_change_'
  group by 1, 2, 3, 4, 5 order by 1, 2, 3`

async function outcomeOf({ api, project }: ReachedStores, user: string) {
  const read = async (text: string) => (await api.pool.query(text, [project.production, user])).rows
  return { facts: await read(FACTS), events: await read(EVENTS) }
}

/** Ten minutes without a fact: what waits for a late word of the store waits no longer. */
async function beQuiet(stores: ReachedStores) {
  const { pool } = stores.api
  const { production } = stores.project
  await pool.query(
    `update purchases set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour' where environment = $1`,
    [production],
  )
  await pool.query(`update due set due_at = clock_timestamp() where environment = $1 and kind = 'subscription'`, [production])
  await pool.query(`select pg_notify('due', 'subscription')`)
  await until('nothing is due', async () => {
    const { rowCount } = await pool.query(
      `select 1 from due where environment = $1 and kind = 'subscription' and due_at <= clock_timestamp() limit 1`,
      [production],
    )
    return rowCount === 0 || undefined
  })
}

/** When everything is read, the same is known of every user. */
export async function expectOneOutcome(stores: ReachedStores, users: string[]) {
  await stores.settled(LIMIT_MS)
  await beQuiet(stores)
  const [first, ...others] = await Promise.all(users.map(user => outcomeOf(stores, user)))
  for (const [n, outcome] of others.entries()) expect({ n, outcome }).toEqual({ n, outcome: first })
  return first!
}

/** Notifications in an order, some of them twice; `null` is the claim. */
export const order = (count: number): fc.Arbitrary<(number | null)[]> =>
  fc.shuffledSubarray([...Array(count).keys(), null], { minLength: count + 1 }).chain(all =>
    fc
      .subarray(
        all.filter(one => one !== null),
        { maxLength: 3 },
      )
      .map(twice => [...all, ...twice]),
  )
