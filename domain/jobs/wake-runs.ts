import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { DUE_CHANNEL } from './workflow-run.ts'

/** Kind of the promises that automation runs go by; their id is the run's number. */
export const AUTOMATION_RUN_DUE = 'automation-run'

/** What the runs have waited for has come: they are due now, and the workers hear of it when the transaction commits. */
export async function wakeRuns(tx: Tx, environment: Environment, numbers: number[]): Promise<void> {
  if (numbers.length === 0) return
  await tx.query({
    name: 'wake-automation-runs',
    text: `with woken as (
             update due set due_at = environment_now($1) where environment = $1 and kind = '${AUTOMATION_RUN_DUE}' and id = any (array(
               select id from due where kind = '${AUTOMATION_RUN_DUE}' and id = any ($2::bigint[]) order by id for no key update))
             returning id)
           select pg_notify('${DUE_CHANNEL}', '${AUTOMATION_RUN_DUE}') where exists (select 1 from woken)`,
    values: [environment, numbers],
  })
}
