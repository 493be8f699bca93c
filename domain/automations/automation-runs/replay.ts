import type { Tx } from '../../../store/connect.ts'
import { orderedId } from '../../../store/ids.ts'
import { storedTrace } from '../../../store/tracing.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict, invalidField } from '../../kernel/refusal.ts'
import { timelineOfRun } from './list.ts'
import { pinFormerVersion } from './pinned-steps.ts'
import { type AutomationRunRow, findAutomationRun, lockAutomationRun } from './run.ts'

// The steps that are taken over keep their numbers and times: the run's position in the log follows from its waits.
const REPLAY = `
  with replay as (
    insert into automation_runs (environment, id, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
      log_offset, position, due_at, replay_of, created_at, trace_context)
    select environment, $3, automation_id, version, user_id, event_id, event_name, happened_at, received_at, partition,
      log_offset, log_offset, t, id, date_trunc('second', t), $6
    from automation_runs, environment_now($1) t where environment = $1 and id = $2
    returning number, due_at
  ), taken_over as (
    insert into automation_steps (run, n, step_id, type, status, reason, started_at, finished_at, due_at, reused, result, attempts)
    select replay.number, s.n, s.step_id, s.type, s.status, s.reason, s.started_at, s.finished_at, s.due_at, true, s.result, s.attempts
    from replay, automation_steps s where s.run = $4 and s.n < $5
  )
  ${insertJobs({ kind: AUTOMATION_RUN_DUE, id: 'number', environment: '$1', dueAt: 'due_at', from: 'replay' })}`

/**
 * A new run with the event and the version of a run that has ended. `fromStep`: the steps before it are taken over with their results.
 * Throws `conflict` while the run is unfinished and after its automation was deleted, `invalid_data` for a step that it did not reach.
 */
export async function replayRun(tx: Tx, environment: Environment, id: string, fromStep: string | undefined): Promise<AutomationRunRow> {
  // The automation is locked before the run, as everywhere.
  const { automation_id } = await findAutomationRun(tx, environment, id)
  const automation = await tx.query('select 1 from automations where environment = $1 and id = $2 for share', [environment, automation_id])
  const run = await lockAutomationRun(tx, environment, id)
  if (run.finished_at === null) throw conflict('the run is unfinished')
  if (automation.rowCount === 0) throw conflict('the automation of the run was deleted')
  let first = 0
  if (fromStep !== undefined) {
    const step = (await timelineOfRun(tx, run.number)).find(({ step_id }) => step_id === fromStep)
    if (!step) throw invalidField('from_step', 'is not in the timeline of the run')
    first = step.n
  }
  await pinFormerVersion(tx, environment, automation_id, run.version)
  const replayId = orderedId('run')
  await tx.query(REPLAY, [environment, id, replayId, run.number, first, storedTrace()])
  announceJobs(tx, AUTOMATION_RUN_DUE)
  return findAutomationRun(tx, environment, replayId)
}
