import type { Pool, Tx } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import type { Environment } from '../environment.ts'
import { LeaseLost } from '../jobs/record.ts'
import { PRIORITIES } from '../jobs/sweep.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import { DUE_CHANNEL } from '../jobs/workflow-run.ts'
import { type AutomationRun, IS_CANCELLED } from './load.ts'

export type Standing = Pick<AutomationRun, 'automation_status' | 'is_cancelled'>

/** Looked at again after that, should nobody have let it go; more often would make a sandbox's clock stop for nothing. */
const PARKED_DAYS = 30

/**
 * Puts a run of a paused automation aside: what was due stays promised for when it was due, only its claimable row moves. False when
 * the automation is not paused (any more): its row is locked first, so that a run is parked either before its release or not at all.
 */
export const parkRun = (pool: Pool, run: AutomationRun): Promise<boolean> =>
  transaction(pool, async tx => {
    const paused = await tx.query(`select 1 from automations where environment = $1 and id = $2 and status = 'paused' for share`, [
      run.environment,
      run.automation_id,
    ])
    if (paused.rowCount === 0) return false
    const { rows } = await tx.query<{ due_at: string }>(
      `select due_at::text as due_at from due where kind = '${AUTOMATION_RUN_DUE}' and id = $1 and fence = $2 for no key update`,
      [run.number, run.fence],
    )
    if (!rows[0]) throw new LeaseLost(`run ${run.id} belongs to another worker`)
    // What woke it early (its event, its delivery's end) is what is due.
    await tx.query('update automation_runs set due_at = least(due_at, $2) where environment = $3 and number = $1', [
      run.number,
      rows[0].due_at,
      run.environment,
    ])
    await tx.query(
      `update due set due_at = greatest(due_at, environment_now($2)) + make_interval(days => ${PARKED_DAYS}), lease_until = null, batched_until = null
       where kind = '${AUTOMATION_RUN_DUE}' and id = $1`,
      [run.number, run.environment],
    )
    return true
  })

/** The automation is active again: what fell due meanwhile is due now. The caller holds the automation's row for update. */
export async function releaseRuns(tx: Tx, environment: Environment, automationId: string): Promise<void> {
  await tx.query(
    `with parked as (
       select d.id, r.due_at from due d
         cross join lateral (select due_at from automation_runs where number = d.id and automation_id = $2 limit 1) r
       where d.kind = '${AUTOMATION_RUN_DUE}' and d.priority in ${PRIORITIES} and d.environment = $1 and r.due_at < d.due_at
       order by d.id for no key update of d
     ), released as (
       update due d set due_at = p.due_at from parked p where d.kind = '${AUTOMATION_RUN_DUE}' and d.id = p.id returning 1
     )
     select pg_notify('${DUE_CHANNEL}', '${AUTOMATION_RUN_DUE}') where exists (select 1 from released)`,
    [environment, automationId],
  )
}

/** What has become of the run's automation, and with it of the run, by now. */
export async function standingOf(pool: Pool, { number, environment, automation_id }: AutomationRun): Promise<Standing> {
  const { rows } = await pool.query<Standing>({
    name: 'standing-of-automation',
    text: `select a.status as automation_status, ${IS_CANCELLED('k.number')} as is_cancelled
           from (select $3::bigint as number) k left join automations a on a.environment = $1 and a.id = $2`,
    values: [environment, automation_id, number],
  })
  return rows[0]!
}
