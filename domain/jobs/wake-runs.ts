import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { announceJobs } from './job.ts'
import { lockJobs, rescheduleJobs } from './sql.ts'

/** Kind of the jobs of automation runs; a job's id is the run's number. */
export const AUTOMATION_RUN_DUE = 'automation-run'

const LOCKED = lockJobs(AUTOMATION_RUN_DUE, '$2::bigint[]')
const WAKE = `
  with locked as materialized (${LOCKED})
  ${rescheduleJobs({
    kind: AUTOMATION_RUN_DUE,
    dueAt: 'environment_now($1)',
    where: 'd.environment = $1 and d.id = any (array(select id from locked))',
  })}`

/** What the runs waited for has come: they are due now, and the workers hear of it once the transaction has committed. */
export async function wakeRuns(tx: Tx, environment: Environment, numbers: number[]): Promise<void> {
  if (numbers.length === 0) return
  const woken = await tx.query({ name: 'wake-automation-runs', text: WAKE, values: [environment, numbers] })
  if (woken.rowCount !== 0) announceJobs(tx, AUTOMATION_RUN_DUE)
}

const WAKE_LOCKED = rescheduleJobs({
  kind: AUTOMATION_RUN_DUE,
  dueAt: 'environment_now($1)',
  where: 'd.environment = $1 and d.id = any ($2::bigint[])',
})

/** The same for runs whose jobs this transaction has locked. */
export async function wakeLockedRuns(tx: Tx, environment: Environment, numbers: number[]): Promise<void> {
  await tx.query({ name: 'wake-locked-runs', text: WAKE_LOCKED, values: [environment, numbers] })
  announceJobs(tx, AUTOMATION_RUN_DUE)
}
