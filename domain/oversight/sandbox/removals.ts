import type { Tx } from '../../../store/connect.ts'
import { deleteJobsOf } from '../../durable/jobs/environment-jobs.ts'
import { createRun, deleteRunsOf } from '../../durable/jobs/workflow-run.ts'
import type { Environment } from '../../kernel/environment.ts'
import { RATES_DUE } from '../../purchases/rates/changes.ts'
import { eraseQueues, eraseQueuesOf } from '../../purchases/store-inbox/queues.ts'
import { CONFIGURATION_OF_STORE } from '../../purchases/stores/config.ts'
import type { Store } from '../../purchases/subscriptions/purchase.ts'
import { AFTER_WRITER_SECONDS, RETENTION_WORKFLOW } from '../../reporting/exports/finish.ts'
import { REPORT_SLOT_DUE } from '../../reporting/reports/report.ts'

/** The kind of the job that empties a sandbox. Its id is the environment. */
export const RESET_DUE = 'sandbox-reset'

/** Removes some rows of an environment; returns whether there may be more of them. */
export type Removal = (tx: Tx, environment: Environment) => Promise<boolean>

/** Rows of one statement, which takes a moment. Of rows that many others refer to, a statement removes fewer. */
const ROWS = 5_000
const WITH_OTHERS = 500

const removal =
  (text: string, limit: number): Removal =>
  async (tx, environment) =>
    (await tx.query(text, [environment, limit])).rowCount === limit

const from = (table: string, limit = ROWS, condition = 'true'): Removal =>
  removal(
    `delete from ${table} where ctid = any (array(select ctid from ${table} where environment = $1 and ${condition} limit $2))`,
    limit,
  )

/** Jobs of the configuration stay, and jobs that remove files. */
const KEPT_JOBS = [RESET_DUE, REPORT_SLOT_DUE, RATES_DUE, RETENTION_WORKFLOW.workflow]

const automationRuns = removal(
  `with gone as materialized (select number from automation_runs where environment = $1 limit $2),
     steps as (delete from automation_steps where run = any (array(select number from gone)))
   delete from automation_runs where number = any (array(select number from gone))`,
  ROWS,
)

/** With all reports of stores about them, so that nothing of them is fetched again. */
const lineages: Removal = async (tx, environment) => {
  const { rows } = await tx.query<{ id: number; platform: Store; name: string; aliases: string[] }>(
    `select l.id, l.platform, l.lineage as name, array(select name from lineage_aliases where lineage = l.id) as aliases
     from lineages l where l.environment = $1 order by l.id limit $2 for update of l`,
    [environment, WITH_OTHERS],
  )
  const named = rows.flatMap(({ platform, name, aliases }) =>
    [name, ...aliases].map(each => ({ platform: CONFIGURATION_OF_STORE[platform], name: each })),
  )
  await eraseQueues(tx, environment, named)
  const ids = [rows.map(({ id }) => id)]
  await tx.query('delete from purchases where lineage = any ($1::bigint[])', ids)
  await tx.query('delete from lineages where id = any ($1::bigint[])', ids)
  return rows.length === WITH_OTHERS
}

/** Sandbox notifications that led to no purchase. */
const queues: Removal = async (tx, environment) => (await eraseQueuesOf(tx, environment, WITH_OTHERS)) === WITH_OTHERS

/** The records are deleted now. Runs of their own remove the files and need no record: the storage may be unavailable at this moment. */
const exportRecords: Removal = async (tx, environment) => {
  const { rows } = await tx.query<{ id: string; has_file: boolean }>(
    `delete from exports where ctid = any (array(select ctid from exports where environment = $1 limit $2))
     returning id, file_removed_at is null as has_file`,
    [environment, WITH_OTHERS],
  )
  await deleteRunsOf(
    tx,
    environment,
    rows.map(({ id }) => id),
  )
  for (const { id: subject, has_file } of rows)
    if (has_file) await createRun(tx, environment, { ...RETENTION_WORKFLOW, subject, afterSeconds: AFTER_WRITER_SECONDS })
  return rows.length === WITH_OTHERS
}

/** All data of an environment except its configuration: first the jobs, so that no worker continues. */
export const REMOVALS: readonly Removal[] = [
  (tx, environment) => deleteJobsOf(tx, environment, KEPT_JOBS, ROWS).then(count => count === ROWS),
  automationRuns,
  ...[
    'unsuccessful_runs',
    'retrying_runs',
    'event_waits',
    'forgotten_runs',
    'automation_cancellations',
    'automation_releases',
    'pending_screens',
  ].map(table => from(table)),
  ...['deliveries', 'ordering_keys', 'set_aside_events', 'report_runs', 'export_members', 'segment_members'].map(table => from(table)),
  from('runs', WITH_OTHERS, `workflow <> '${RETENTION_WORKFLOW.workflow}'`),
  exportRecords,
  ...['ledger_history', 'ledger_compacted'].map(table => from(table)),
  from('idempotent_answers', ROWS, `operation <> 'v4ResetTestClock'`),
  ...['purchase_attempts', 'events', 'purchases'].map(table => from(table)),
  lineages,
  // With the rows that belong to a user: grants, subscriptions, assignments, pins.
  from('users', WITH_OTHERS),
  queues,
  // With the messages about them.
  from('alerts', WITH_OTHERS),
  ...['store_alerts', 'store_backfills', 'store_tests', 'stale_users', 'set_aside_users', 'analytics_insights', 'erased_facts'].map(table =>
    from(table),
  ),
]
