import type { Db, Tx } from '../../../store/connect.ts'
import { isClaimed, lockJob } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import type { Environment } from '../../kernel/environment.ts'
import { notFound } from '../../kernel/refusal.ts'

export type RunStatus = 'pending' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'cancelled' | 'skipped'
export const UNFINISHED_RUN = `('pending', 'running', 'waiting')`

/** A run as lists show it. */
export type AutomationRunRow = {
  id: string
  number: number
  automation_id: string
  version: number
  user_id: string | null
  event_id: string
  event_name: string
  happened_at: string
  status: RunStatus
  reason: string | null
  current_step: string | null
  due_at: string | null
  replay_of: string | null
  created_at: string
  started_at: string | null
  finished_at: string | null
  trace_context: string | null
}

/** In SQL: notes runs that have just ended as failed or cancelled, for the lists of such runs; `ended` has their rows. */
export const noteUnsuccessful = (ended: string): string => `
  insert into unsuccessful_runs (environment, automation_id, status, created_at, id, number, finished_at)
  select environment, automation_id, status, created_at, id, number, finished_at from ${ended} where status in ('failed', 'cancelled')`

/** In SQL: deletes the notes of the runs of `gone`, which are deleted. */
export const forgetUnsuccessful = (gone: string): string => `
  delete from unsuccessful_runs u using ${gone} g where u.environment = g.environment and u.automation_id = g.automation_id and u.status = g.status
    and u.created_at = g.created_at and u.id = g.id`

// A worker writes nothing to a run that it claims for the first time: the run's job shows the claim. A run that a paused automation holds has
// been claimed and given back.
export const SHOWN_STATUS = `case when status = 'pending'
  and ${isClaimed(AUTOMATION_RUN_DUE, 'automation_runs.number')} then 'running' else status end`

export const AUTOMATION_RUN_COLUMNS = `id, number, automation_id, version, user_id, event_id, event_name, happened_at, ${SHOWN_STATUS} as status, reason,
  current_step, due_at, replay_of, created_at, started_at, finished_at, trace_context`

export async function findAutomationRun(db: Db, environment: Environment, id: string): Promise<AutomationRunRow> {
  const { rows } = await db.query<AutomationRunRow>(
    `select ${AUTOMATION_RUN_COLUMNS} from automation_runs where environment = $1 and id = $2`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('automation run')
  return rows[0]
}

/** Locks a run until the transaction ends, its job first, as workers do; returns the locked row. Throws `not_found`. */
export async function lockAutomationRun(tx: Tx, environment: Environment, id: string): Promise<AutomationRunRow> {
  const number = '(select number from automation_runs where environment = $1 and id = $2)'
  await tx.query(lockJob(AUTOMATION_RUN_DUE, number, 'update'), [environment, id])
  await tx.query('select 1 from automation_runs where environment = $1 and id = $2 for no key update', [environment, id])
  return findAutomationRun(tx, environment, id)
}

/**
 * In SQL: the automations (`automation_id`) of an environment that have runs, deleted automations too, by one index probe each. Runs are
 * indexed by automation and creation: a query for an environment's runs by their creation is made for each automation.
 */
export const automationsWithRuns = (environment: string): string => `
  with recursive found(automation_id) as (
    (select automation_id from automation_runs where environment = ${environment} order by automation_id limit 1)
    union all
    select n.automation_id from found f cross join lateral (
      select automation_id from automation_runs where environment = ${environment} and automation_id > f.automation_id
      order by automation_id limit 1) n
  ) select automation_id from found`
