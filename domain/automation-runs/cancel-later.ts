import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { DUE_CHANNEL } from '../runs/create.ts'

// Half a million runs may wait when their automation is set inactive or deleted: as one transaction that takes a minute and more, for
// which no caller waits. So the first of them end with the change, and the change notes up to which number all runs of the automation are
// cancelled. From its commit on no worker carries any of these: one that comes to it cancels it. The rest is cancelled by a timer, in
// bounded steps.

/** Kind of the promise that the other runs of an automation are cancelled; its id is the cancellation's number. */
export const CANCEL_DUE = 'automation-cancel'

export type LastingReason = 'automation_inactive' | 'automation_deleted'

/** The runs that the automation has by now are cancelled, those that start from now on are not. The automation is held. */
export async function cancelLater(tx: Tx, environment: Environment, automation: string, reason: LastingReason): Promise<void> {
  await tx.query(
    `with last as materialized (
       select max(number) as number from automation_runs
     ), marked as (
       update automations set cancelled_upto = last.number from last where environment = $1 and id = $2
     ), noted as (
       insert into automation_cancellations (environment, automation_id, reason, upto) select $1, $2, $3, last.number from last returning number
     ), promised as (
       insert into due (kind, id, environment, due_at) select '${CANCEL_DUE}', number, $1, environment_now($1) from noted returning id
     )
     select pg_notify('${DUE_CHANNEL}', '${CANCEL_DUE}') from promised`,
    [environment, automation, reason],
  )
}
