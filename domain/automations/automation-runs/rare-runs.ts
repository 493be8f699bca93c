import type { Db } from '../../../store/connect.ts'
import { PRIORITIES } from '../../durable/jobs/groups.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { RunStatus } from './run.ts'

/** Unfinished runs of an environment that a list looks up one by one: some 30 ms. Where there are more, they are not rare. */
const MOST_OPEN = 10_000

const ENDED: readonly RunStatus[] = ['failed', 'cancelled']
const OPEN: readonly RunStatus[] = ['pending', 'running', 'waiting']

// Only the newest rows of each status before the cursor can be on the page.
const UNSUCCESSFUL = `
  select r.number from unnest($3::text[]) s(status) cross join lateral (
    select number from unsuccessful_runs where environment = $1 and automation_id = $2 and status = s.status
      and created_at >= coalesce($4::timestamptz, '-infinity') and created_at < coalesce($5::timestamptz, 'infinity')
      and (created_at, id) < (coalesce($6::timestamptz, 'infinity'), coalesce($7, ''))
    order by created_at desc, id desc limit $8) r`

const OPEN_RUNS = `
  select id as number from due where kind = '${AUTOMATION_RUN_DUE}' and priority in ${PRIORITIES} and environment = $1 limit ${MOST_OPEN + 1}`

/** The numbers of the unfinished runs of the environment; null: they are not few. */
export async function openRuns(db: Db, environment: Environment): Promise<number[] | null> {
  const { rows } = await db.query<{ number: number }>({ name: 'open-runs-of-environment', text: OPEN_RUNS, values: [environment] })
  return rows.length > MOST_OPEN ? null : rows.map(({ number }) => number)
}

export type RareRuns = {
  automation: string
  statuses: readonly RunStatus[]
  from: string | undefined
  to: string | undefined
  /** The cursor's row, with microseconds; null: the first page. */
  after: { created_at: string; id: string } | null
  limit: number
}

/**
 * The numbers of the runs that can be on a page of a list by status, where all of these statuses are rare; null where one of them is not:
 * then the page is found by going through all runs.
 */
export async function rareRuns(db: Db, environment: Environment, requested: RareRuns): Promise<number[] | null> {
  const { automation, statuses, from, to, after, limit } = requested
  if (statuses.length === 0 || statuses.some(status => !ENDED.includes(status) && !OPEN.includes(status))) return null
  const numbers: number[] = []
  if (statuses.some(status => OPEN.includes(status))) {
    const open = await openRuns(db, environment)
    if (open === null) return null
    numbers.push(...open)
  }
  const ended = statuses.filter(status => ENDED.includes(status))
  if (ended.length > 0) {
    const { rows } = await db.query<{ number: number }>({
      name: 'unsuccessful-runs',
      text: UNSUCCESSFUL,
      values: [environment, automation, ended, from ?? null, to ?? null, after?.created_at ?? null, after?.id ?? null, limit + 1],
    })
    for (const { number } of rows) numbers.push(number)
  }
  return numbers
}
