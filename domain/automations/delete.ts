import type { Tx } from '../../store/connect.ts'
import { cancelRunsOf } from '../automation-runs/cancel.ts'
import type { Environment } from '../environment.ts'
import { type Automation, lockAutomation } from './automation.ts'

/** Removes an automation for good and cancels its unfinished runs; its runs and what they are pinned to stay. Returns what it was. */
export async function deleteAutomation(tx: Tx, environment: Environment, id: string): Promise<Automation> {
  const before = await lockAutomation(tx, environment, id, 'update')
  await cancelRunsOf(tx, environment, id, 'automation_deleted')
  await tx.query(
    `with initiators as (delete from automation_initiators where environment = $1 and automation_id = $2),
       forgotten as (delete from forgotten_runs where environment = $1 and automation_id = $2)
     delete from automations where environment = $1 and id = $2`,
    [environment, id],
  )
  return before
}
