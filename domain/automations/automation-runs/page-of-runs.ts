import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { UNFINISHED_RUN } from './run.ts'

// Changes of all unfinished runs of an automation are made in bounded steps: millions of them may wait. The runs are found by their
// automation, in the order of the list. Found by the jobs of the environment or of all environments, an automation with three runs would
// cost as much as the largest one.

/** Runs that one transaction reads and changes, in about a second. */
const AT_ONCE = 10_000

/** The last run that was read, newest first; `after_created` null: none. */
export type RunCursor = { after_created: string | null; after_id: string | null }
export const NEWEST: RunCursor = { after_created: null, after_id: null }

/** `open`: the numbers of the unfinished runs of the page. `next`: where the next page begins; null: that was the last one. */
export type RunPage = { open: number[]; next: RunCursor | null }

const PAGE = `
  select number, created_at::text as after_created, id as after_id, status in ${UNFINISHED_RUN} as is_open from automation_runs
  where environment = $1 and automation_id = $2
    and (created_at, id) < (coalesce($3::timestamptz, 'infinity'), coalesce($4::text, ''))
  order by created_at desc, id desc limit ${AT_ONCE}`

/** Moves the cursor in the row of a job of bounded steps; the row is deleted with the last page. Returns whether a page is left. */
export async function moveCursor(
  tx: Tx,
  table: 'automation_cancellations' | 'automation_releases',
  number: number,
  next: RunCursor | null,
): Promise<boolean> {
  if (next === null) await tx.query(`delete from ${table} where number = $1`, [number])
  else
    await tx.query(`update ${table} set after_created = $2, after_id = $3 where number = $1`, [number, next.after_created, next.after_id])
  return next !== null
}

/** The next runs of the automation after the cursor, from the newest to the oldest. */
export async function pageOfRuns(
  tx: Tx,
  environment: Environment,
  automation: string,
  { after_created, after_id }: RunCursor,
): Promise<RunPage> {
  const { rows } = await tx.query<RunCursor & { number: number; is_open: boolean }>({
    name: 'page-of-automation-runs',
    text: PAGE,
    values: [environment, automation, after_created, after_id],
  })
  const last = rows.length === AT_ONCE ? rows.at(-1)! : null
  return {
    open: rows.flatMap(({ number, is_open }) => (is_open ? [number] : [])),
    next: last && { after_created: last.after_created, after_id: last.after_id },
  }
}
