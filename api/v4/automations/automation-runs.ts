import { cancelRun } from '../../../domain/automations/automation-runs/cancel.ts'
import { withCurrentSteps } from '../../../domain/automations/automation-runs/current-step.ts'
import { listAutomationRuns, type ShownStep, timelineOfRun } from '../../../domain/automations/automation-runs/list.ts'
import { replayRun } from '../../../domain/automations/automation-runs/replay.ts'
import { type AutomationRunRow, findAutomationRun } from '../../../domain/automations/automation-runs/run.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { expensiveRead, inTransaction, onPool } from '../../operation.ts'
import { cursorPage, restartedHeader } from '../../pagination.ts'
import { wholeSeconds } from '../../time.ts'

const run = (row: AutomationRunRow) => ({
  object: 'automation_run' as const,
  id: row.id,
  url: `/v4/automation-runs/${row.id}`,
  automation_id: row.automation_id,
  automation_version: row.version,
  user_id: row.user_id,
  event: { id: row.event_id, event_name: row.event_name, happened_at: row.happened_at },
  status: row.status,
  reason: row.reason,
  current_step: row.current_step,
  due_at: row.due_at,
  replay_of: row.replay_of,
  created_at: row.created_at,
  started_at: row.started_at,
  finished_at: row.finished_at,
})

const step = ({ n: _, type, attempts, ...rest }: ShownStep) => ({
  ...rest,
  type: type as 'exit',
  // A step is recorded as running only when an attempt has failed, or was not recorded.
  next_attempt_at: rest.status === 'running' ? rest.due_at : null,
  attempts: attempts.map(({ number, started_at, duration_ms, error }) => ({
    number,
    started_at: wholeSeconds(started_at),
    duration_ms: duration_ms === null ? null : Math.round(duration_ms),
    error,
  })),
})

export const v4ListAutomationRuns = expensiveRead('v4ListAutomationRuns', async ({ path: { automation_id }, query, environment, db }) => {
  const { limit, starting_after: after, from, to } = query
  const filter = { statuses: query['filter[status][]'] ?? [], user: query['filter[user_id]'], from, to }
  const { rows, restarted } = await listAutomationRuns(db, environment, automation_id, { limit, after, filter })
  const url = `/v4/automations/${automation_id}/runs`
  return { body: cursorPage({ url, rows, limit, item: run }), headers: restartedHeader(restarted) }
})

export const v4GetAutomationRun = onPool('v4GetAutomationRun', async ({ path, environment, db }) => {
  const row = await findAutomationRun(db, environment, path.run_id)
  const [shown] = await withCurrentSteps(db, environment, [row])
  return { body: { ...run(shown!), steps: (await timelineOfRun(db, row.number)).map(step) } }
})

export const v4CancelAutomationRun = inTransaction('v4CancelAutomationRun', async ({ path, environment, trail, tx }) => {
  const { before, after } = await cancelRun(tx, environment, path.run_id)
  if (before) {
    const user = after.user_id === null ? {} : { user: after.user_id }
    await audit(tx, trail, { resource: 'automation_run', id: after.id, before: run(before), after: run(after), ...user })
  }
  return { body: run(after) }
})

export const v4ReplayAutomationRun = inTransaction('v4ReplayAutomationRun', async ({ path, body, environment, trail, tx }) => {
  const made = await replayRun(tx, environment, path.run_id, body?.from_step)
  const user = made.user_id === null ? {} : { user: made.user_id }
  await audit(tx, trail, { resource: 'automation_run', id: made.id, after: run(made), ...user })
  return { body: run(made) }
})
