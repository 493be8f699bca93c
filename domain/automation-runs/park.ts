import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Environment } from '../environment.ts'
import { PRIORITIES } from '../jobs/groups.ts'
import { leaseLost, tryLockFence } from '../jobs/job.ts'
import { lockJobs, notifyWorkers, rescheduleJobs, suspendJobs } from '../jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import { type AutomationRun, IS_CANCELLED } from './load.ts'

export type Standing = Pick<AutomationRun, 'automation_status' | 'is_cancelled'>

/** A parked run is due again after that time, if it was not released; a shorter time would stop an advancing sandbox clock for nothing. */
const PARKED_DAYS = 30

/**
 * Parks a run of a paused automation: the run keeps its due time, only its job moves. False: the automation is not paused (any more). The
 * automation is locked first, so that a run is parked either before its release or not at all.
 */
export const parkRun = (pool: Pool, run: AutomationRun): Promise<boolean> =>
  transaction(pool, async tx => {
    const paused = await tx.query(`select 1 from automations where environment = $1 and id = $2 and status = 'paused' for share`, [
      run.environment,
      run.automation_id,
    ])
    if (paused.rowCount === 0) return false
    const job = { kind: AUTOMATION_RUN_DUE, id: run.number, fence: run.fence }
    const locked = await tryLockFence(tx, job)
    if (locked === null) throw leaseLost(job)
    // The job's time is earlier than the run's when its event or the end of its delivery woke the run.
    await tx.query('update automation_runs set due_at = least(due_at, $2) where environment = $3 and number = $1', [
      run.number,
      locked.due_at,
      run.environment,
    ])
    const dueAt = `greatest(d.due_at, environment_now($2)) + make_interval(days => ${PARKED_DAYS})`
    await tx.query(suspendJobs({ kind: AUTOMATION_RUN_DUE, dueAt, where: 'd.id = $1' }), [run.number, run.environment])
    return true
  })

/** The automation is active again: its parked runs are due at their own times. The caller has locked the automation for update. */
export async function releaseRuns(tx: Tx, environment: Environment, automationId: string): Promise<void> {
  await tx.query(
    `with parked as materialized (
       select d.id, r.due_at from due d
         cross join lateral (select due_at from automation_runs where number = d.id and automation_id = $2 limit 1) r
       where d.kind = '${AUTOMATION_RUN_DUE}' and d.priority in ${PRIORITIES} and d.environment = $1 and r.due_at < d.due_at
     ), locked as materialized (
       ${lockJobs(AUTOMATION_RUN_DUE, 'any (array(select id from parked))')}
     ), released as (
       ${rescheduleJobs({ kind: AUTOMATION_RUN_DUE, dueAt: 'p.due_at', from: 'parked p join locked using (id)', where: 'd.id = p.id' })} returning 1
     )
     select ${notifyWorkers(AUTOMATION_RUN_DUE)} where exists (select 1 from released)`,
    [environment, automationId],
  )
}

/** The present status of the run's automation, and whether the run was cancelled with it. */
export async function standingOf(pool: Pool, { number, environment, automation_id }: AutomationRun): Promise<Standing> {
  const { rows } = await pool.query<Standing>({
    name: 'standing-of-automation',
    text: `select a.status as automation_status, ${IS_CANCELLED('k.number')} as is_cancelled
           from (select $3::bigint as number) k left join automations a on a.environment = $1 and a.id = $2`,
    values: [environment, automation_id, number],
  })
  return rows[0]!
}
