import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Environment } from '../environment.ts'
import { continueWork } from '../jobs/bounded-work.ts'
import { PRIORITIES } from '../jobs/groups.ts'
import { tryLockFence } from '../jobs/job.ts'
import { deleteJobs, insertJobs, lockJobs, notifyWorkers } from '../jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import { conflict } from '../refusal.ts'
import type { AutomationRun } from './load.ts'
import { type AutomationRunRow, lockAutomationRun, UNFINISHED_RUN } from './run.ts'

export type CancelReason = 'cancelled_by_api' | LastingReason

/** Runs that one transaction ends, in about a second. */
export const AT_ONCE = 10_000

// The jobs are locked before this statement. A worker that records for a run locks the run's job, so nothing is recorded meanwhile, and a run
// that has just ended is seen as ended.
const CANCEL = (which: string) => `
  with ended as (
    update automation_runs r set status = 'cancelled', reason = $3, due_at = null, finished_at = t
    from environment_now($1) t where r.environment = $1 and ${which} and r.status in ${UNFINISHED_RUN} returning r.number, r.finished_at
  ), steps as (
    update automation_steps s set status = 'cancelled', finished_at = ended.finished_at
    from ended where s.run = ended.number and s.status in ('running', 'waiting')
  ), jobs as (
    ${deleteJobs(AUTOMATION_RUN_DUE, 'any (array(select number from ended))')}
  )
  delete from event_waits w using ended where w.run = ended.number`

/** Cancels those of the runs that are unfinished. Their jobs are locked first, in the order in which every statement locks jobs. */
export async function cancelNumbers(tx: Tx, environment: Environment, numbers: number[], reason: CancelReason): Promise<void> {
  if (numbers.length === 0) return
  await tx.query(lockJobs(AUTOMATION_RUN_DUE, 'any ($1::bigint[])', 'update'), [numbers])
  await tx.query(CANCEL('r.number = any ($2::bigint[])'), [environment, numbers, reason])
}

/** Cancels all unfinished runs of an automation. The caller has locked the automation: no run starts meanwhile. More runs than one transaction ends are cancelled later. */
export async function cancelRunsOf(tx: Tx, environment: Environment, automation: string, reason: LastingReason): Promise<void> {
  // Found by the jobs of the environment: an automation has far more runs of the last ninety days than unfinished ones.
  const { rows } = await tx.query<{ id: number }>(
    `select d.id from due d cross join lateral (select 1 from automation_runs where number = d.id and automation_id = $2 limit 1) r
     where d.kind = '${AUTOMATION_RUN_DUE}' and d.priority in ${PRIORITIES} and d.environment = $1
     limit ${AT_ONCE + 1}`,
    [environment, automation],
  )
  await cancelNumbers(
    tx,
    environment,
    rows.slice(0, AT_ONCE).map(({ id }) => id),
    reason,
  )
  if (rows.length > AT_ONCE) await cancelLater(tx, environment, automation, reason)
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
  await tx.query(CANCEL('r.id = $2'), [environment, id, 'cancelled_by_api' satisfies CancelReason])
  return { before, after: await lockAutomationRun(tx, environment, id) }
}

// Half a million runs may wait when their automation is set inactive or deleted: to end them in one transaction takes a minute or more, and
// no caller waits for that. So the first runs end with the change, and the change stores the number up to which all runs of the automation
// are cancelled. From its commit on no worker executes any of these runs: a worker that claims one cancels it. A job cancels the rest in
// bounded steps.

/** Kind of the job that cancels the other runs of an automation; its id is the cancellation's number. */
export const CANCEL_DUE = 'automation-cancel'

export type LastingReason = 'automation_inactive' | 'automation_deleted'

/** Cancels the runs that the automation has by now; later ones are not affected. The caller has locked the automation. */
export async function cancelLater(tx: Tx, environment: Environment, automation: string, reason: LastingReason): Promise<void> {
  await tx.query(
    `with last as materialized (
       select max(number) as number from automation_runs
     ), marked as (
       update automations set cancelled_upto = last.number from last where environment = $1 and id = $2
     ), noted as (
       insert into automation_cancellations (environment, automation_id, reason, upto) select $1, $2, $3, last.number from last returning number
     ), jobs as (
       ${insertJobs({ kind: CANCEL_DUE, id: 'number', environment: '$1', dueAt: 'environment_now($1)', from: 'noted' })} returning id
     )
     select ${notifyWorkers(CANCEL_DUE)} from jobs`,
    [environment, automation, reason],
  )
}

type Cancellation = { environment: Environment; automation_id: string; reason: LastingReason; after: number; upto: number }

// Goes through the jobs of all runs once: selected by environment and automation, each step would scan from the beginning.
const NEXT = `
  select d.id, exists (select 1 from automation_runs r where r.number = d.id and r.environment = $3 and r.automation_id = $4) as is_own
  from (select id from due where kind = '${AUTOMATION_RUN_DUE}' and id > $1 and id <= $2 order by id limit ${AT_ONCE}) d order by d.id`

/** The next step of a cancellation. */
export const cancelMore = (pool: Pool, number: number): Promise<unknown> =>
  continueWork(pool, CANCEL_DUE, number, async tx => {
    const locked = await tx.query<Cancellation>(
      'select environment, automation_id, reason, after, upto from automation_cancellations where number = $1 for update',
      [number],
    )
    const row = locked.rows[0]
    if (!row) return false
    const { environment, automation_id, reason, after, upto } = row
    const { rows } = await tx.query<{ id: number; is_own: boolean }>(NEXT, [after, upto, environment, automation_id])
    const own = rows.flatMap(({ id, is_own }) => (is_own ? [id] : []))
    await cancelNumbers(tx, environment, own, reason)
    const isLeft = rows.length === AT_ONCE
    if (isLeft) await tx.query('update automation_cancellations set after = $2 where number = $1', [number, rows.at(-1)!.id])
    else await tx.query('delete from automation_cancellations where number = $1', [number])
    return isLeft
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
