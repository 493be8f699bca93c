import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Page, pageOf } from '../../kernel/page.ts'
import { notFound } from '../../kernel/refusal.ts'
import type { TimelineStep } from './load.ts'
import { rareRuns } from './rare-runs.ts'
import { AUTOMATION_RUN_COLUMNS, type AutomationRunRow, type RunStatus, SHOWN_STATUS } from './run.ts'
import { type ShownRun, showRuns } from './shown-run.ts'

export type RunFilter = { statuses: readonly RunStatus[]; user: string | undefined; from: string | undefined; to: string | undefined }

const LISTED = { table: 'automation_runs', columns: AUTOMATION_RUN_COLUMNS, order: 'newest' as const }

/** The runs of these numbers, found one by one: with a condition on the number the planner might still go through the list in its order. */
const among = (numbers: string) =>
  `(select r.* from unnest(${numbers}::bigint[]) n(number) cross join lateral (select * from automation_runs where number = n.number limit 1) r) automation_runs`

/** Runs of one automation, newest first; one row more than `limit` when there are more. Throws `not_found` for an unknown automation. */
export async function listAutomationRuns(
  db: Db,
  environment: Environment,
  automation: string,
  { limit, after, filter }: { limit: number; after: string | undefined; filter: RunFilter },
): Promise<Page<ShownRun>> {
  const cursor = await cursorOf(db, environment, automation, after)
  const own = cursor?.row ?? null
  const { and, compile } = await import('../../kernel/compose.ts')
  const { sql } = await import('kysely')
  const { user, statuses, from, to } = filter
  // Without a filter by user. A cursor of another list begins the list anew.
  const few = user === undefined ? await rareRuns(db, environment, { automation, statuses, from, to, after: own, limit }) : null
  const conditions = [
    // With a user, the runs are found by the user first: the order of the list would lead through the runs of all users.
    user === undefined
      ? sql<boolean>`automation_id = ${automation}`
      : sql<boolean>`number = any (array(
          select r.number from automation_runs r where r.environment = ${environment} and r.user_id = ${user} and r.automation_id = ${automation}))`,
    ...(statuses.length > 0 ? [sql<boolean>`${sql.raw(SHOWN_STATUS)} = any (${statuses}::text[])`] : []),
    ...(from === undefined ? [] : [sql<boolean>`created_at >= ${from}`]),
    ...(to === undefined ? [] : [sql<boolean>`created_at < ${to}`]),
  ]
  const { sql: condition, parameters: values } = compile(and(conditions), 4)
  // With the cursor's run, after which the page begins.
  const numbers = few !== null && own !== null ? [...new Set([...few, own.number])] : few
  const page = await pageOf<AutomationRunRow>(
    db,
    numbers === null ? LISTED : { ...LISTED, table: among(`$${4 + values.length}`) },
    environment,
    { limit, after: cursor?.id, narrowed: { condition, values: numbers === null ? values : [...values, numbers] } },
  )
  return { ...page, rows: await showRuns(db, environment, page.rows) }
}

/** `row`: with microseconds; null: no run of the list has the id. */
type ListCursor = { id: string; row: { created_at: string; id: string; number: number } | null }

/** A run of another automation is no cursor of this list: an id that no run has replaces it. */
async function cursorOf(db: Db, environment: Environment, automation: string, after: string | undefined): Promise<ListCursor | undefined> {
  const { rows } = await db.query<{ created_at: string | null; number: number }>(
    `select r.created_at::text, r.number from automations a
     left join lateral (select created_at, number from automation_runs where environment = $1 and id = $3 and automation_id = $2 limit 1) r on true
     where a.environment = $1 and a.id = $2`,
    [environment, automation, after ?? null],
  )
  if (!rows[0]) throw notFound('automation')
  if (after === undefined) return undefined
  const { created_at, number } = rows[0]
  return created_at === null ? { id: '', row: null } : { id: after, row: { created_at, id: after, number } }
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
