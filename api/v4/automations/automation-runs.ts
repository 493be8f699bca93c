import { withoutNested } from '../../../domain/automations/automation-runs/ahead.ts'
import { cancelRun } from '../../../domain/automations/automation-runs/cancel.ts'
import { type DetailStep, readRun } from '../../../domain/automations/automation-runs/detail.ts'
import { listAutomationRuns } from '../../../domain/automations/automation-runs/list.ts'
import { listAllRuns } from '../../../domain/automations/automation-runs/list-all.ts'
import { replayRun } from '../../../domain/automations/automation-runs/replay.ts'
import type { AutomationRunRow } from '../../../domain/automations/automation-runs/run.ts'
import { type ShownRun, showRuns } from '../../../domain/automations/automation-runs/shown-run.ts'
import { eventType, slugOf } from '../../../domain/events/catalogue.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { traceIdOf } from '../../../store/tracing.ts'
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

const shown = (row: ShownRun) => ({
  ...run(row),
  automation_name: row.automation_name,
  automation_status: row.automation_status,
  is_retrying: row.is_retrying,
  next_attempt_at: row.next_attempt_at,
  last_error: row.last_error,
})

const step = ({ n: _, type, attempts, definition, delivery, ...rest }: DetailStep) => ({
  ...rest,
  type: type as 'exit',
  definition: definition && withoutNested(definition),
  delivery: delivery && {
    id: delivery.id,
    integration_id: delivery.integration_id,
    status: delivery.status,
    reason: delivery.reason,
    attempt_count: delivery.attempt_count,
    next_attempt_at: delivery.next_attempt_at,
    attempts: delivery.attempts.map(({ number, started_at, duration_ms, http_status, error }) => ({
      number,
      started_at: wholeSeconds(started_at),
      duration_ms: duration_ms === null ? null : Math.round(duration_ms),
      http_status,
      error,
    })),
  },
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
  return { body: cursorPage({ url, rows, limit, item: shown }), headers: restartedHeader(restarted) }
})

export const v4ListAllAutomationRuns = expensiveRead('v4ListAllAutomationRuns', async ({ query, environment, db }) => {
  const { limit, starting_after: after, from, to } = query
  // A name that is no event type stays: it matches nothing.
  const events = (query['filter[event_name][]'] ?? []).map(type => slugOf(type) ?? type)
  const filter = {
    statuses: query['filter[status][]'] ?? [],
    automation: query['filter[automation_id]'],
    user: query['filter[user_id]'],
    events,
    from,
    to,
  }
  const uids = events.flatMap(slug => eventType(slug)?.uid ?? [])
  const { rows, next, restarted } = await listAllRuns(db, environment, { limit, after, filter }, uids)
  const list = { object: 'list' as const, url: '/v4/automation-runs' as const, data: rows.map(shown), has_more: next !== null }
  return { body: next === null ? list : { ...list, next_cursor: next }, headers: restartedHeader(restarted) }
})

export const v4GetAutomationRun = onPool('v4GetAutomationRun', async ({ path, environment, db }) => {
  const { run: row, steps, ahead } = await readRun(db, environment, path.run_id)
  const next = ahead.map(({ step: { id, type, ...rest }, begins_by }) => ({
    step_id: id,
    type,
    begins_by: begins_by && wholeSeconds(begins_by),
    definition: withoutNested({ id, type, ...rest } as never),
  }))
  return { body: { ...shown(row), trace_id: traceIdOf(row.trace_context), steps: steps.map(step), ahead: next } }
})

export const v4CancelAutomationRun = inTransaction('v4CancelAutomationRun', async ({ path, environment, trail, tx }) => {
  const { before, after } = await cancelRun(tx, environment, path.run_id)
  if (before) {
    const user = after.user_id === null ? {} : { user: after.user_id }
    await audit(tx, trail, { resource: 'automation_run', id: after.id, before: run(before), after: run(after), ...user })
  }
  return { body: shown((await showRuns(tx, environment, [after]))[0]!) }
})

export const v4ReplayAutomationRun = inTransaction('v4ReplayAutomationRun', async ({ path, body, environment, trail, tx }) => {
  const made = await replayRun(tx, environment, path.run_id, body?.from_step)
  const user = made.user_id === null ? {} : { user: made.user_id }
  await audit(tx, trail, { resource: 'automation_run', id: made.id, after: run(made), ...user })
  return { body: shown((await showRuns(tx, environment, [made]))[0]!) }
})
