import type { Pool, Tx } from '../../../store/connect.ts'
import { continueWork } from '../../durable/jobs/bounded-work.ts'
import { announceJobs } from '../../durable/jobs/job.ts'
import { insertJobs, lockJobs, rescheduleJobs } from '../../durable/jobs/sql.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import type { Environment } from '../../kernel/environment.ts'
import { moveCursor, NEWEST, pageOfRuns, type RunCursor } from './page-of-runs.ts'

/** Kind of the job that releases the other parked runs of an automation; its id is the release's number. */
export const RUN_RELEASE_DUE = 'automation-release'

// A run that was parked is due earlier than its job. A job that is due already keeps its position.
const RELEASE = `
  with parked as materialized (
    select d.id, r.due_at from environment_now($2) now, unnest($1::bigint[]) k(number)
      cross join lateral (select id, due_at from due where kind = '${AUTOMATION_RUN_DUE}' and id = k.number limit 1) d
      cross join lateral (select due_at from automation_runs where number = k.number limit 1) r
    where r.due_at < d.due_at and d.due_at > now
  ), locked as materialized (
    ${lockJobs(AUTOMATION_RUN_DUE, 'array(select id from parked)')}
  )
  ${rescheduleJobs({ kind: AUTOMATION_RUN_DUE, dueAt: 'p.due_at', from: 'parked p join locked using (id)', where: 'd.id = p.id' })}`

/** Makes the parked runs of the next page due at their own times; returns the beginning of the next page. */
async function releasePage(tx: Tx, environment: Environment, automation: string, cursor: RunCursor): Promise<RunCursor | null> {
  const { open, next } = await pageOfRuns(tx, environment, automation, cursor)
  if (open.length === 0) return next
  const released = await tx.query({ name: 'release-parked-runs', text: RELEASE, values: [open, environment] })
  if (released.rowCount !== 0) announceJobs(tx, AUTOMATION_RUN_DUE)
  return next
}

// One release for each automation: an automation that is paused and active again begins anew.
const LATER = `
  with noted as (
    insert into automation_releases (environment, automation_id, after_created, after_id) values ($1, $2, $3, $4)
    on conflict (environment, automation_id) do update set after_created = excluded.after_created, after_id = excluded.after_id
    returning number
  )
  ${insertJobs({ kind: RUN_RELEASE_DUE, id: 'number', environment: '$1', dueAt: 'environment_now($1)', from: 'noted', ifExists: 'keep' })}`

/**
 * The automation is active again: its parked runs are due at their own times, the newest ones with this transaction, the others in further
 * ones. The caller has locked the automation: no run is parked any more.
 */
export async function releaseRuns(tx: Tx, environment: Environment, automation: string): Promise<void> {
  const next = await releasePage(tx, environment, automation, NEWEST)
  if (next === null) return
  await tx.query(LATER, [environment, automation, next.after_created, next.after_id])
  announceJobs(tx, RUN_RELEASE_DUE)
}

type Release = RunCursor & { environment: Environment; automation_id: string }

/** The next step of a release. It ends when the automation is no longer active: the next activation releases all runs that are parked. */
export const releaseMoreRuns = (pool: Pool, number: number): Promise<unknown> =>
  continueWork(pool, RUN_RELEASE_DUE, number, async tx => {
    // The automation is locked before its release, as a change of its status locks them, and whatever its status: an activation under way
    // would begin this release anew, which would then end because the automation was still paused.
    const { rows: automations } = await tx.query<{ status: string }>(
      `select a.status from automation_releases l join automations a on a.environment = l.environment and a.id = l.automation_id
       where l.number = $1 for share of a`,
      [number],
    )
    const { rows } = await tx.query<Release>(
      'select environment, automation_id, after_created::text, after_id from automation_releases where number = $1 for update',
      [number],
    )
    const row = rows[0]
    const next = row && automations[0]?.status === 'active' ? await releasePage(tx, row.environment, row.automation_id, row) : null
    return moveCursor(tx, 'automation_releases', number, next)
  })
