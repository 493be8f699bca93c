import type { Pool, Tx } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { continueWork } from '../../durable/jobs/bounded-work.ts'
import { announceJobs, tryLockFence } from '../../durable/jobs/job.ts'
import { deleteJobs, insertJobs, lockJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { failDeliveriesOfRuns } from '../../integrations/deliveries/run-cancelled.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict } from '../../kernel/refusal.ts'
import type { AutomationRun } from './load.ts'
import { moveCursor, NEWEST, pageOfRuns, type RunCursor } from './page-of-runs.ts'
import { forgetRetrying } from './retrying.ts'
import { type AutomationRunRow, lockAutomationRun, noteUnsuccessful, UNFINISHED_RUN } from './run.ts'

export type CancelReason = 'cancelled_by_api' | LastingReason

// The jobs are locked before this statement. A worker that records for a run locks the run's job, so nothing is recorded meanwhile, and a run
// that has just ended is seen as ended.
const CANCEL = `
  with ended as (
    update automation_runs r set status = 'cancelled', reason = $3, current_step = null, due_at = null, finished_at = t
    from environment_now($1) t where r.environment = $1 and r.number = any ($2::bigint[]) and r.status in ${UNFINISHED_RUN}
    returning r.environment, r.automation_id, r.status, r.created_at, r.id, r.number, r.finished_at
  ), noted as (
    ${noteUnsuccessful('ended')}
  ), steps as (
    update automation_steps s set status = 'cancelled', finished_at = ended.finished_at
    from ended where s.run = ended.number and s.status in ('running', 'waiting')
  ), jobs as (
    ${deleteJobs(AUTOMATION_RUN_DUE, 'any (array(select number from ended))')}
  ), waits as (
    delete from event_waits w using ended where w.run = ended.number
  ), no_longer_retried as (
    ${forgetRetrying('select number from ended')}
  )
  select number from ended`

/**
 * Cancels those of the runs that are unfinished, with the open deliveries of their steps. The runs' jobs are locked first, as everywhere: no
 * step creates a delivery after that.
 */
async function cancelNumbers(tx: Tx, environment: Environment, numbers: number[], reason: CancelReason): Promise<void> {
  if (numbers.length === 0) return
  await tx.query(lockJobs(AUTOMATION_RUN_DUE, '$1::bigint[]', 'update'), [numbers])
  const { rows } = await tx.query<{ number: number }>(CANCEL, [environment, numbers, reason])
  await failDeliveriesOfRuns(
    tx,
    rows.map(({ number }) => number),
  )
}

/**
 * Cancels the unfinished runs of an automation: those among its newest runs with this transaction, the others later. The caller has locked
 * the automation: no run starts meanwhile.
 */
export async function cancelRunsOf(tx: Tx, environment: Environment, automation: string, reason: LastingReason): Promise<void> {
  const { open, next } = await pageOfRuns(tx, environment, automation, NEWEST)
  await cancelNumbers(tx, environment, open, reason)
  if (next) await cancelLater(tx, environment, automation, reason, next)
}

/** `before` is null when the run was cancelled already. Throws `conflict` when it has ended otherwise. */
export async function cancelRun(
  tx: Tx,
  environment: Environment,
  id: string,
): Promise<{ before: AutomationRunRow | null; after: AutomationRunRow }> {
  const before = await lockAutomationRun(tx, environment, id)
  if (before.status === 'cancelled') return { before: null, after: before }
  if (before.finished_at !== null) throw conflict(`the run has ended: it is ${before.status}`)
  await cancelNumbers(tx, environment, [before.number], 'cancelled_by_api')
  return { before, after: await lockAutomationRun(tx, environment, id) }
}

// Half a million runs may wait when their automation is set inactive or deleted: to end them in one transaction takes a minute or more, and
// no caller waits for that. So the first runs end with the change, and the change stores the number up to which all runs of the automation
// are cancelled. From its commit on no worker executes any of these runs or sends a delivery of theirs: a worker that claims one cancels it.
// A job cancels the rest in bounded steps.

/** Kind of the job that cancels the other runs of an automation; its id is the cancellation's number. */
export const CANCEL_DUE = 'automation-cancel'

export type LastingReason = 'automation_inactive' | 'automation_deleted'

/**
 * Cancels the runs after the cursor that the automation has by now; runs that start later are not affected. The caller has locked the
 * automation.
 */
export async function cancelLater(
  tx: Tx,
  environment: Environment,
  automation: string,
  reason: LastingReason,
  { after_created, after_id }: RunCursor = NEWEST,
): Promise<void> {
  await tx.query(
    `with last as materialized (
       select max(number) as number from automation_runs
     ), marked as (
       update automations set cancelled_upto = last.number from last where environment = $1 and id = $2
     ), noted as (
       insert into automation_cancellations (environment, automation_id, reason, after_created, after_id, upto)
       select $1, $2, $3, $4, $5, last.number from last returning number
     )
     ${insertJobs({ kind: CANCEL_DUE, id: 'number', environment: '$1', dueAt: 'environment_now($1)', from: 'noted' })}`,
    [environment, automation, reason, after_created, after_id],
  )
  announceJobs(tx, CANCEL_DUE)
}

type Cancellation = RunCursor & { environment: Environment; automation_id: string; reason: LastingReason; upto: number }

/** The next step of a cancellation. */
export const cancelMore = (pool: Pool, number: number): Promise<unknown> =>
  continueWork(pool, CANCEL_DUE, number, async tx => {
    const locked = await tx.query<Cancellation>(
      `select environment, automation_id, reason, after_created::text, after_id, upto from automation_cancellations where number = $1 for update`,
      [number],
    )
    const row = locked.rows[0]
    if (!row) return false
    const { environment, automation_id, reason, upto } = row
    const { open, next } = await pageOfRuns(tx, environment, automation_id, row)
    await cancelNumbers(
      tx,
      environment,
      open.filter(run => run <= upto),
      reason,
    )
    return moveCursor(tx, 'automation_cancellations', number, next)
  })

/** Cancels a claimed run that no worker may execute any more. False: it belongs to another worker by now. */
export const cancelClaimed = (pool: Pool, run: AutomationRun): Promise<boolean> =>
  transaction(pool, async tx => {
    const locked = await tryLockFence(tx, { kind: AUTOMATION_RUN_DUE, id: run.number, fence: run.fence })
    if (locked === null) return false
    const { rowCount } = await tx.query('select 1 from automations where environment = $1 and id = $2', [
      run.environment,
      run.automation_id,
    ])
    await cancelNumbers(tx, run.environment, [run.number], rowCount === 0 ? 'automation_deleted' : 'automation_inactive')
    return true
  })
