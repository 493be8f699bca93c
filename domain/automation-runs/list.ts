import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { notFound } from '../refusal.ts'
import type { TimelineStep } from './load.ts'
import { AUTOMATION_RUN_COLUMNS, type AutomationRunRow, type RunStatus, SHOWN_STATUS } from './run.ts'

export type RunFilter = { statuses: readonly RunStatus[]; user: string | undefined; from: string | undefined; to: string | undefined }

const OF_USER = `number = any (array(
  select r.number from automation_runs r where r.environment = $1 and r.user_id = $5 and r.automation_id = $4))`
const LISTED = { table: 'automation_runs', columns: AUTOMATION_RUN_COLUMNS, order: 'newest' as const }

/** Runs of one automation, newest first; one row more than `limit` when there are more. Throws `not_found` for an unknown automation. */
export async function listAutomationRuns(
  db: Db,
  environment: Environment,
  automation: string,
  { limit, after, filter }: { limit: number; after: string | undefined; filter: RunFilter },
): Promise<Page<AutomationRunRow>> {
  const cursor = await cursorOf(db, environment, automation, after)
  // With a user, the runs are found by the user first: the order of the list would lead through the runs of all users.
  const conditions = [filter.user === undefined ? 'automation_id = $4' : OF_USER]
  const values: unknown[] = [automation, ...(filter.user === undefined ? [] : [filter.user])]
  const addCondition = (condition: (parameter: string) => string, value: unknown) => {
    values.push(value)
    conditions.push(condition(`$${values.length + 3}`))
  }
  if (filter.statuses.length > 0) addCondition(p => `${SHOWN_STATUS} = any (${p}::text[])`, filter.statuses)
  if (filter.from !== undefined) addCondition(p => `created_at >= ${p}`, filter.from)
  if (filter.to !== undefined) addCondition(p => `created_at < ${p}`, filter.to)
  return pageOf<AutomationRunRow>(db, LISTED, environment, {
    limit,
    after: cursor,
    narrowed: { condition: conditions.join(' and '), values },
  })
}

/** A run of another automation is no cursor of this list: an id that no run has takes its place. */
async function cursorOf(db: Db, environment: Environment, automation: string, after: string | undefined): Promise<string | undefined> {
  const { rows } = await db.query<{ is_own: boolean }>(
    `select exists (select 1 from automation_runs where environment = $1 and id = $3 and automation_id = $2) as is_own
     from automations where environment = $1 and id = $2`,
    [environment, automation, after ?? null],
  )
  if (!rows[0]) throw notFound('automation')
  return after === undefined || rows[0].is_own ? after : ''
}

/** A step of a run as it is shown. Times as the wire has them. */
export type ShownStep = TimelineStep & { finished_at: string | null; reused: boolean }

/** The steps of a run, in order of their start. `run`: its number, as found within its environment. */
export async function timelineOfRun(db: Db, run: number): Promise<ShownStep[]> {
  const { rows } = await db.query<ShownStep>(
    `select n, step_id, type, status, reason, started_at, finished_at, due_at, reused, result, attempts
     from automation_steps where run = $1 order by n`,
    [run],
  )
  return rows
}
