import type { Pool } from '../../../store/connect.ts'
import { transaction } from '../../../store/transaction.ts'
import { leaseLost, tryLockFence } from '../../durable/jobs/job.ts'
import { suspendJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import { IS_CANCELLED } from '../../integrations/deliveries/waiting-runs.ts'
import type { AutomationRun } from './load.ts'

export type CurrentStatus = Pick<AutomationRun, 'automation_status' | 'is_cancelled'>

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

/** The present status of the run's automation, and whether the run was cancelled with it. */
export async function readCurrentStatus(pool: Pool, { number, environment, automation_id }: AutomationRun): Promise<CurrentStatus> {
  const { rows } = await pool.query<CurrentStatus>({
    name: 'standing-of-automation',
    text: `select a.status as automation_status, ${IS_CANCELLED('k.number')} as is_cancelled
           from (select $3::bigint as number) k left join automations a on a.environment = $1 and a.id = $2`,
    values: [environment, automation_id, number],
  })
  return rows[0]!
}
