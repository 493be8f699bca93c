import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { type Page, pageOf } from '../page.ts'
import { notFound } from '../refusal.ts'
import { RUN_COLUMNS, type RunRow, type RunStatus, SHOWN_STATUS } from './run.ts'

export type RunFilter = { statuses: readonly RunStatus[]; user: string | undefined; from: string | undefined; to: string | undefined }

const LISTED = { table: 'automation_runs', columns: RUN_COLUMNS, order: 'newest' as const }

/** Runs of one automation, newest first; one row more than `limit` when there are more. Throws `not_found` for an unknown automation. */
export async function listRuns(
  db: Db,
  environment: Environment,
  automation: string,
  { limit, after, filter }: { limit: number; after: string | undefined; filter: RunFilter },
): Promise<Page<RunRow>> {
  const cursor = await cursorOf(db, environment, automation, after)
  const conditions = ['automation_id = $4']
  const values: unknown[] = [automation]
  const narrow = (condition: (parameter: string) => string, value: unknown) => {
    values.push(value)
    conditions.push(condition(`$${values.length + 3}`))
  }
  if (filter.statuses.length > 0) narrow(p => `${SHOWN_STATUS} = any (${p}::text[])`, filter.statuses)
  if (filter.user !== undefined) narrow(p => `user_id = ${p}`, filter.user)
  if (filter.from !== undefined) narrow(p => `created_at >= ${p}`, filter.from)
  if (filter.to !== undefined) narrow(p => `created_at < ${p}`, filter.to)
  return pageOf<RunRow>(db, LISTED, environment, { limit, after: cursor, narrowed: { condition: conditions.join(' and '), values } })
}

/** A run of another automation has no place in this list: an id that nobody has stands for it. */
async function cursorOf(db: Db, environment: Environment, automation: string, after: string | undefined): Promise<string | undefined> {
  const { rows } = await db.query<{ is_own: boolean }>(
    `select exists (select 1 from automation_runs where environment = $1 and id = $3 and automation_id = $2) as is_own
     from automations where environment = $1 and id = $2`,
    [environment, automation, after ?? null],
  )
  if (!rows[0]) throw notFound('automation')
  return after === undefined || rows[0].is_own ? after : ''
}
