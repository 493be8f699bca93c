import type { Tx } from '../../../store/connect.ts'
import { forgetRetrying } from '../../automations/automation-runs/retrying.ts'
import { forgetUnsuccessful, UNFINISHED_RUN } from '../../automations/automation-runs/run.ts'
import { deleteJobs, lockJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { addToLedgerHistory, USER_DELETED } from '../../durable/ledger-history/history.ts'
import { partitionOf } from '../../durable/log/partition.ts'
import { DELIVERY_DUE, OPEN_DELIVERY } from '../../integrations/deliveries/delivery.ts'
import type { Environment } from '../../kernel/environment.ts'

const lockJobsOf = (kind: string, table: string, open: string) =>
  lockJobs(kind, `array(select number from ${table} where environment = $1 and user_id = $2 and status in ${open})`, 'update')
// The key of each integration is looked up by its own: for a join the planner might read all integrations for each key, or all keys.
const ORDERING_KEYS = `array(
  select l.ctid from integrations i
  cross join lateral (select ctid from ordering_keys where environment = $1 and integration = i.number and user_id = $2 limit 1) l
  where i.environment = $1)`
const lockRows = (table: string) => `select 1 from ${table} where environment = $1 and user_id = $2 order by number for update`

// These locks keep other transactions from creating a run or delivery of the user that the erasure does not see:
//
// - The consumers of the log for automations and integrations have read the user's events before, and the next statements see what the
//   consumers have created; or they read the log after the user's events are deleted.
// - A replay locks the integration before it reads the events, so the same holds for it.
// - A worker that executes a run or delivery records before this transaction locks the job, or finds no job.
// - A transaction that creates a run or delivery from another one locks that one's row.
//
// The order is that of the end of a delivery: ordering key, the run's job, the delivery's job, the rows. A run may create a delivery until
// its job is locked: the deliveries are read after that.
const LOCK = [
  `select 1 from log_consumers where consumer in ('automations', 'integrations') and environment = $1 and partition = $3 and $2::text is not null
   order by consumer for no key update`,
  'select 1 from integrations where environment = $1 and $2::text is not null order by number for update',
  `select 1 from ordering_keys where ctid = any (${ORDERING_KEYS}) order by integration for update`,
  lockJobsOf(AUTOMATION_RUN_DUE, 'automation_runs', UNFINISHED_RUN),
  lockJobsOf(DELIVERY_DUE, 'deliveries', OPEN_DELIVERY),
  lockRows('deliveries'),
  lockRows('automation_runs'),
]

// The rows that belong to the deleted ones are named by number: for a join the planner might read a large table from end to end.
const ended = (open: string, outcome: string) => `
  ended as (
    select environment, created_at, case when status in ${open} then '${outcome}' else status end as outcome,
      case when status in ${open} then '${USER_DELETED}' else reason end as reason
    from deleted
  )`
const NUMBERS = 'any (array(select number from deleted))'

// The ledger keeps the outcome of the runs and deliveries that had ended, and counts the open ones as ended by the user's erasure.
const ERASE_RUNS = `
with deleted as (
  delete from automation_runs where environment = $1 and user_id = $2 returning environment, automation_id, id, number, created_at, status, reason
), unlisted as (
  ${forgetUnsuccessful('deleted')}
), no_longer_retried as (
  ${forgetRetrying('select number from deleted')}
), steps as (
  delete from automation_steps where run = ${NUMBERS}
), waits as (
  delete from event_waits where run = ${NUMBERS}
), jobs as (
  ${deleteJobs(AUTOMATION_RUN_DUE, NUMBERS)}
), ${ended(UNFINISHED_RUN, 'cancelled')}
${addToLedgerHistory({ kind: 'automation_runs', from: 'ended', due: 'created_at', outcome: 'outcome', reason: 'reason' })}`

const ERASE_DELIVERIES = `
with deleted as (
  delete from deliveries where environment = $1 and user_id = $2 returning environment, number, created_at, status, reason
), jobs as (
  ${deleteJobs(DELIVERY_DUE, NUMBERS)}
), ${ended(OPEN_DELIVERY, 'failed')}
${addToLedgerHistory({ kind: 'deliveries', from: 'ended', due: 'created_at', outcome: 'outcome', reason: 'reason' })}`

// All deliveries of an ordering key are the user's: there is no next one to schedule.
const ERASE = [
  ERASE_RUNS,
  ERASE_DELIVERIES,
  `delete from ordering_keys where ctid = any (${ORDERING_KEYS})`,
  'delete from pending_screens where environment = $1 and user_id = $2',
  'delete from forgotten_runs where environment = $1 and user_id = $2',
  'delete from event_waits where environment = $1 and user_id = $2',
  `delete from set_aside_events s using events e
   where s.consumer in ('automations', 'integrations') and s.environment = $1 and s.partition = $3
     and e.environment = $1 and e.partition = $3 and e.log_offset = s.log_offset and e.user_id = $2`,
]

/**
 * Deletes the jobs of a user and their results. Part of the transaction that erases the user: the user's row is locked, and the user's
 * events still exist.
 */
export async function eraseJobs(tx: Tx, environment: Environment, user: string): Promise<void> {
  const partition = partitionOf(environment, user)
  for (const statement of [...LOCK, ...ERASE])
    await tx.query(statement, statement.includes('$3') ? [environment, user, partition] : [environment, user])
}
