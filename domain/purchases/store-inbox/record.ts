import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import { createRuns } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { FORWARD_WORKFLOW } from './forward.ts'
import type { NewNotification } from './notification.ts'
import { queuesNamed, STORE_QUEUE_DUE } from './queues.ts'

/** `known`: the same notification is recorded already. */
export type Recorded = 'recorded' | 'known'

// A notification that comes twice in one statement is inserted once, as its first item.
const INSERT = `
with items as materialized (
  select i.*, e.id as environment, p.id as production
  from unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bytea[], $9::text[], $10::text[], $11::bigint[])
    with ordinality i(project, platform, kind, notification_id, type, subtype, stated_at, body, content_type, source, lane, n)
  join environments p on p.project = i.project and p.kind = 'production'
  left join environments e on e.project = i.project and e.kind = i.kind
), recorded as (
  insert into store_inbox (project, platform, environment, lane, notification_id, type, subtype, stated_at, body, content_type, source)
  select project, platform, environment, lane, notification_id, type, subtype, stated_at, body, content_type, source
  from items order by project, platform, notification_id, n
  on conflict (project, platform, notification_id) do nothing
  returning id, project, platform, lane, notification_id, source
), jobs as (
  ${insertJobs({
    kind: STORE_QUEUE_DUE,
    id: 'lane',
    environment: 'e.id',
    dueAt: 'clock_timestamp()',
    from: `(select distinct lane, project from recorded) r join environments e on e.project = r.project and e.kind = 'production' order by lane`,
    // The queue has had jobs before: an executor of a former job must not be able to record anything.
    isRecreated: true,
    ifExists: 'advance',
  })}
)
select r.id, min(i.n)::int as n, i.production,
  bool_and(r.source = 'push' and case r.platform when 'apple' then p.proxy_url when 'google' then p.rtdn_proxy_url end is not null) as forwards
from recorded r join items i using (project, platform, notification_id) join projects p on p.id = r.project
group by r.id, i.production order by r.id`

type Row = { id: number; n: number; production: Environment; forwards: boolean | null }

async function insert(tx: Tx, items: readonly NewNotification[]): Promise<Row[]> {
  const queues = await queuesNamed(
    tx,
    items.map(({ project, platform, queue: name, environment }) => ({ project, platform, name, environment })),
  )
  const { rows } = await tx.query<Row>({
    name: 'record-store-notifications',
    text: INSERT,
    values: [
      items.map(item => item.project),
      items.map(item => item.platform),
      items.map(item => item.environment),
      items.map(item => item.id),
      items.map(item => item.type),
      items.map(item => item.subtype),
      items.map(item => item.statedAt),
      items.map(item => item.body),
      items.map(item => item.contentType),
      items.map(item => item.source),
      queues,
    ],
  })
  return rows
}

/**
 * Records notifications, in one transaction: each with its queue, whose job is due now, and with the run that forwards it where the project wants
 * that. A notification that is known already changes nothing. The result has one word for each, in order.
 */
export const recordNotifications = (pool: Pool, items: readonly NewNotification[]): Promise<Recorded[]> =>
  transaction(pool, tx => recordInTransaction(tx, items))

/** The same within a transaction of the caller's. */
export async function recordInTransaction(tx: Tx, items: readonly NewNotification[]): Promise<Recorded[]> {
  const rows = await insert(tx, items)
  if (rows.length > 0) announceJobs(tx, STORE_QUEUE_DUE)
  const forwards = Map.groupBy(
    rows.filter(row => row.forwards),
    row => row.production,
  )
  for (const [production, runs] of forwards)
    await createRuns(
      tx,
      production,
      FORWARD_WORKFLOW,
      runs.map(({ id }) => String(id)),
    )
  const fresh = new Set(rows.map(({ n }) => n))
  return items.map((_, index) => (fresh.has(index + 1) ? 'recorded' : 'known'))
}
