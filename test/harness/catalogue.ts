import type { TestApi } from './api.ts'
import { until } from './until.ts'

/** Inserts a purchase in a lineage of its own; `from` and `until` are hours relative to now. */
export async function recordPurchase(
  api: TestApi,
  purchase: {
    platform?: string
    product: string
    basePlan?: string
    from?: number
    until?: number
    user?: string | null
    sharedWith?: string
    environment?: number
    isUnmapped?: boolean
  },
): Promise<void> {
  const { platform = 'app_store', product, basePlan = null, from = -1, until = 1, user = 'QON_buyer', sharedWith } = purchase
  const { environment = api.project.production, isUnmapped = false } = purchase
  const { rows } = await api.pool.query<{ id: number }>(
    `insert into lineages (environment, platform, lineage, user_id) values ($1, $2, gen_random_uuid(), $3) returning id`,
    [environment, platform, user],
  )
  const lineage = rows[0]!.id
  await api.pool.query(
    `insert into purchases (environment, lineage, user_id, platform, store_product_id, base_plan_id, is_subscription, currency, price,
       amount, purchased_at, created_at, access_until, auto_renewing, is_unmapped)
     values ($1, $2, $3, $4, $5, $6, true, 'USD', '1', 1, now() + make_interval(hours => $7), now(), now() + make_interval(hours => $8), true, $9)`,
    [environment, lineage, user, platform, product, basePlan, from, until, isUnmapped],
  )
  if (sharedWith)
    await api.pool.query('insert into lineage_shares (environment, lineage, user_id) values ($1, $2, $3)', [
      environment,
      lineage,
      sharedWith,
    ])
}

/** An object as lists and audit entries have it: without what names it. */
export function withoutUses<Body extends object>(body: Body) {
  const { used_by, used_by_has_more, active_purchases, active_grants, ...plain } = body as Body & Record<string, unknown>
  return plain
}

/** Inserts a group, with the id `group`, of an experiment in this status. */
export async function recordGroup(api: TestApi, group: string, status: string): Promise<void> {
  const environment = api.project.production
  await api.pool.query(
    `with e as (
       insert into experiments (environment, id, name, alias_id, status, context_key, is_context_specific, segmentation_conditions, created_at, updated_at)
       values ($1, $2 || '-experiment', 'x', $2, $3, '', false, '[]', now(), now()) returning environment, id)
     insert into experiment_groups (environment, id, experiment_id, is_control, weight, created_at, updated_at)
     select environment, $2, id, true, 1, now(), now() from e`,
    [environment, group, status],
  )
}

/** The audit entries of an object, oldest first. */
export async function entriesOf(api: TestApi, resource: string, id: string) {
  const { rows } = await api.pool.query(
    'select operation, before, after from audit_log where environment = $1 and resource = $2 and resource_id = $3 order by id',
    [api.project.production, resource, id],
  )
  return rows as { operation: string; before: Record<string, unknown> | null; after: Record<string, unknown> | null }[]
}

/** Sets the times of a row back by an hour, so that a change of `updated_at` shows in whole seconds. */
export const age = (api: TestApi, table: 'products' | 'entitlements' | 'offerings', id: string) =>
  api.pool.query(
    `update ${table} set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour' where environment = $1 and id = $2`,
    [api.project.production, id],
  )

/** Counts parallel responses by status. */
export function tally(responses: { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Runs the statement `first` in a transaction and commits when `waiting` others, started by `others`, wait for its locks. */
export async function whileOthersWait<T>(api: TestApi, first: string, waiting: number, others: () => Promise<T>): Promise<T> {
  const connection = await api.pool.connect()
  try {
    await connection.query('begin')
    await connection.query(first)
    const results = others()
    await until(`${waiting} blocked connections`, async () => {
      // Within a transaction, pg_stat_activity is else the snapshot of its first read.
      await connection.query('select pg_stat_clear_snapshot()')
      const { rowCount } = await connection.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return (rowCount ?? 0) < waiting ? undefined : true
    })
    await connection.query('commit')
    return await results
  } finally {
    await connection.query('rollback')
    connection.release()
  }
}
