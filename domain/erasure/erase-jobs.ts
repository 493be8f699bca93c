import type { Tx } from '../../store/connect.ts'
import { DELIVERY_DUE } from '../deliveries/delivery.ts'
import type { Environment } from '../environment.ts'
import { partitionOf } from '../events/partition.ts'
import { deleteJobs, lockJobs } from '../jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import { remember } from '../ledger-history/history.ts'
import { USER_DELETED } from '../ledger-history/kinds.ts'

const OPEN_RUN = `('pending', 'running', 'waiting')`
const OPEN_DELIVERY = `('pending', 'retrying')`

const lockJobsOf = (kind: string, table: string, open: string) =>
  lockJobs(kind, `any (array(select number from ${table} where environment = $1 and user_id = $2 and status in ${open}))`, 'update')
const lockRows = (table: string) => `select 1 from ${table} where environment = $1 and user_id = $2 order by number for update`

// Nothing of the user begins behind our back: what reads the log for automations and integrations has either been there, and what it
// made is seen by the next statements, or comes when the user's events are gone; so with what is sent again or made up for, which holds
// the integration before it looks at the events. A worker that has a run or delivery in hand records
// before we have its promise, or finds none. In the order in which a delivery's end wakes its run: lane, delivery, run; and once more
// the deliveries, because a run may have made one until we had its promise. Whoever makes a run or delivery anew of another one holds
// that one's row.
const HOLD = [
  `select 1 from log_consumers where consumer in ('automations', 'integrations') and environment = $1 and partition = $3 and $2::text is not null
   order by consumer for no key update`,
  'select 1 from integrations where environment = $1 and $2::text is not null order by number for no key update',
  `select 1 from integrations i join ordering_keys l on l.environment = $1 and l.integration = i.number and l.user_id = $2
   where i.environment = $1 order by i.number for update of l`,
  lockJobsOf(DELIVERY_DUE, 'deliveries', OPEN_DELIVERY),
  lockJobsOf(AUTOMATION_RUN_DUE, 'automation_runs', OPEN_RUN),
  lockJobsOf(DELIVERY_DUE, 'deliveries', OPEN_DELIVERY),
  lockRows('deliveries'),
  lockRows('automation_runs'),
]

// The rows that hang on them are named by number: a join could just as well read the whole of a large table.
const ended = (open: string, outcome: string) => `
  ended as (
    select environment, created_at, case when status in ${open} then '${outcome}' else status end as outcome,
      case when status in ${open} then '${USER_DELETED}' else reason end as reason
    from gone
  )`
const NUMBERS = 'any (array(select number from gone))'

// In the ledger what had ended stays what it was, and what had not was called off because the user left.
const ERASE_RUNS = `
with gone as (
  delete from automation_runs where environment = $1 and user_id = $2 returning environment, number, created_at, status, reason
), steps as (
  delete from automation_steps where run = ${NUMBERS}
), waits as (
  delete from event_waits where run = ${NUMBERS}
), jobs as (
  ${deleteJobs(AUTOMATION_RUN_DUE, NUMBERS)}
), ${ended(OPEN_RUN, 'cancelled')}
${remember({ kind: 'automation_runs', from: 'ended', due: 'created_at', outcome: 'outcome', reason: 'reason' })}`

const ERASE_DELIVERIES = `
with gone as (
  delete from deliveries where environment = $1 and user_id = $2 returning environment, number, created_at, status, reason
), jobs as (
  ${deleteJobs(DELIVERY_DUE, NUMBERS)}
), ${ended(OPEN_DELIVERY, 'failed')}
${remember({ kind: 'deliveries', from: 'ended', due: 'created_at', outcome: 'outcome', reason: 'reason' })}`

// All deliveries of a lane are the user's: there is no next one to promise.
const ERASE = [
  ERASE_RUNS,
  ERASE_DELIVERIES,
  `delete from ordering_keys l using integrations i where i.environment = $1 and l.environment = $1 and l.integration = i.number and l.user_id = $2`,
  'delete from pending_screens where environment = $1 and user_id = $2',
  'delete from forgotten_runs where environment = $1 and user_id = $2',
  'delete from event_waits where environment = $1 and user_id = $2',
  `delete from set_aside_events s using events e
   where s.consumer in ('automations', 'integrations') and s.environment = $1 and s.partition = $3
     and e.environment = $1 and e.partition = $3 and e.log_offset = s.log_offset and e.user_id = $2`,
]

/**
 * Takes away what was promised to a user and what became of it. Part of the transaction that erases the user: the user's row is locked,
 * the user's events are still there.
 */
export async function eraseJobs(tx: Tx, environment: Environment, user: string): Promise<void> {
  const partition = partitionOf(environment, user)
  for (const statement of [...HOLD, ...ERASE])
    await tx.query(statement, statement.includes('$3') ? [environment, user, partition] : [environment, user])
}
