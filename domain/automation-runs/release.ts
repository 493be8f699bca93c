import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { DUE_CHANNEL } from '../runs/create.ts'
import { AUTOMATION_RUN_DUE } from './wake.ts'

/** The automation is active again: what fell due while it was paused is due now, the rest when it was promised. */
export async function releaseHeldRuns(tx: Tx, environment: Environment, automation: string): Promise<void> {
  await tx.query(
    `with held as (
       select r.number, r.due_at from automation_runs r
       where r.environment = $1 and r.automation_id = $2 and r.status in ('pending', 'running', 'waiting') and r.due_at is not null
     ), released as (
       update due d set due_at = held.due_at, ring_until = null from held
       where d.kind = '${AUTOMATION_RUN_DUE}' and d.id = held.number and d.due_at > held.due_at returning d.id
     )
     select pg_notify('${DUE_CHANNEL}', '${AUTOMATION_RUN_DUE}') where exists (select 1 from released)`,
    [environment, automation],
  )
}
