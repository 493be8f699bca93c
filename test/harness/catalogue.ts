import type { TestApi } from './api.ts'
import { until } from './until.ts'

/** A purchase recorded as if it had been sent, of a user who has no other; the times are relative to now, in hours. */
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
  },
): Promise<void> {
  const { platform = 'app_store', product, basePlan = null, from = -1, until = 1, user = 'QON_buyer', sharedWith } = purchase
  const environment = api.project.production
  const { rows } = await api.pool.query<{ id: number }>(
    `insert into lineages (environment, platform, lineage, user_id) values ($1, $2, gen_random_uuid(), $3) returning id`,
    [environment, platform, user],
  )
  const lineage = rows[0]!.id
  await api.pool.query(
    `insert into purchases (environment, lineage, user_id, platform, store_product_id, base_plan_id, is_subscription, currency, price,
       amount, purchased_at, created_at, access_until, auto_renewing)
     values ($1, $2, $3, $4, $5, $6, true, 'USD', '1', 1, now() + make_interval(hours => $7), now(), now() + make_interval(hours => $8), true)`,
    [environment, lineage, user, platform, product, basePlan, from, until],
  )
  if (sharedWith)
    await api.pool.query('insert into lineage_shares (environment, lineage, user_id) values ($1, $2, $3)', [
      environment,
      lineage,
      sharedWith,
    ])
}

/** A group of an experiment in this status, with the id `group`. */
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

/** What the audit log says was done to an object, oldest first. */
export async function entriesOf(api: TestApi, resource: string, id: string) {
  const { rows } = await api.pool.query(
    'select operation, before, after from audit_log where environment = $1 and resource = $2 and resource_id = $3 order by id',
    [api.project.production, resource, id],
  )
  return rows as { operation: string; before: Record<string, unknown> | null; after: Record<string, unknown> | null }[]
}

/** Puts `updated_at` of a row an hour back, so that a move can be seen in whole seconds. */
export const age = (api: TestApi, table: 'products' | 'entitlements' | 'offerings', id: string) =>
  api.pool.query(
    `update ${table} set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour' where environment = $1 and id = $2`,
    [api.project.production, id],
  )

/** The statuses of parallel answers, with how often each came. */
export function tally(answers: { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** Does `first` in a transaction of its own and keeps it open until so many others wait for it; they are started by `others`. */
export async function whileOthersWait<T>(api: TestApi, first: string, waiting: number, others: () => Promise<T>): Promise<T> {
  const holder = await api.pool.connect()
  try {
    await holder.query('begin')
    await holder.query(first)
    const answers = others()
    await until(`${waiting} wait`, async () => {
      // Within a transaction the activity is else as it was at the first look.
      await holder.query('select pg_stat_clear_snapshot()')
      const { rowCount } = await holder.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return (rowCount ?? 0) < waiting ? undefined : true
    })
    await holder.query('commit')
    return await answers
  } finally {
    await holder.query('rollback')
    holder.release()
  }
}
