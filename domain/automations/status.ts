import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import { conflict } from '../kernel/refusal.ts'
import { AUTOMATION_COLUMNS, type Automation, type AutomationChange, automationOf, CHANGED_AT, lockAutomation } from './automation.ts'
import { cancelRunsOf } from './automation-runs/cancel.ts'
import { releaseRuns } from './automation-runs/release.ts'
import type { AutomationStatus } from './input.ts'
import { lockNamed, neededBy } from './named.ts'

/** Every status can follow every other. Throws `conflict` when the automation is to be active and names an object that is deleted. */
export async function changeAutomationStatus(
  tx: Tx,
  environment: Environment,
  id: string,
  status: AutomationStatus,
): Promise<AutomationChange> {
  const before = await lockAutomation(tx, environment, id, 'no key update')
  if (before.status === status) return { before: null, after: before }
  const { rows } = await tx.query<Automation>(
    `update automations set status = $3, updated_at = ${CHANGED_AT} where environment = $1 and id = $2 returning ${AUTOMATION_COLUMNS}`,
    [environment, id, status],
  )
  await enterStatus(tx, environment, before, before.status, status)
  return { before, after: automationOf(rows[0]!) }
}

/** The consequences of a change of status. The caller has locked the automation. */
export async function enterStatus(
  tx: Tx,
  environment: Environment,
  { id, data }: Pick<Automation, 'id' | 'data'>,
  before: AutomationStatus,
  status: AutomationStatus,
): Promise<void> {
  switch (status) {
    case 'inactive':
      await cancelRunsOf(tx, environment, id, 'automation_inactive')
      return
    case 'active': {
      const [gone] = await lockNamed(tx, environment, neededBy(data))
      if (gone) throw conflict(`${gone.field} names a ${gone.kind} that is gone: ${gone.id}`)
      if (before === 'paused') await releaseRuns(tx, environment, id)
      return
    }
    case 'paused':
      return
    default:
      status satisfies never
  }
}
