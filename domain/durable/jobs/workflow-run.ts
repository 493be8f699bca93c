import type { Db, Tx } from '../../../store/connect.ts'
import { lockInOrder } from '../../../store/lock-in-order.ts'
import { linkedTrace, storedTrace } from '../../../store/tracing.ts'
import type { Environment } from '../../kernel/environment.ts'
import { announceJobs, type ClaimedJob } from './job.ts'
import { RECREATED_FENCE } from './sql.ts'

/** `afterSeconds`: when the run falls due, counted from now on the environment's clock. */
export type NewRun = { workflow: string; version: number; subject: string; afterSeconds?: number }

/** The kind of the jobs of a workflow's runs in this version, as the column `runs.job_kind` has it. */
export const jobKindOf = ({ workflow, version }: { workflow: string; version: number }): string =>
  version === 1 ? workflow : `${workflow}.v${version}`

/** Creates a run and its job. The workers are notified after the commit. */
export async function createRun(
  tx: Tx,
  environment: Environment,
  { workflow, version, subject, afterSeconds = 0 }: NewRun,
): Promise<number> {
  const { rows } = await tx.query<{ id: number }>({
    name: 'create-run',
    text: `with made as (
             insert into runs (environment, workflow, version, subject, created_at, trace_context)
             select $1, $2, $3, $4, t, $6 from environment_now($1) t returning id, job_kind, created_at
           ), jobs as (
             insert into due (kind, id, environment, due_at) select job_kind, id, $1, created_at + make_interval(secs => $5) from made
           )
           select id from made`,
    values: [environment, workflow, version, subject, afterSeconds, storedTrace()],
  })
  announceJobs(tx, jobKindOf({ workflow, version }))
  return rows[0]!.id
}

/** Creates one run for each subject, due now. */
export const createRuns = (tx: Tx, environment: Environment, workflow: Omit<NewRun, 'subject'>, subjects: string[]): Promise<void> =>
  createRunsOf(
    tx,
    workflow,
    subjects.map(subject => ({ environment, subject })),
  )

/** The subject of a run, in its environment. */
export type RunSubject = { environment: Environment; subject: string }

/** Creates one run for each subject, in any environments. */
export async function createRunsOf(
  tx: Tx,
  { workflow, version, afterSeconds = 0 }: Omit<NewRun, 'subject'>,
  subjects: readonly RunSubject[],
): Promise<void> {
  if (subjects.length === 0) return
  await tx.query({
    name: 'create-runs',
    text: `with made as (
             insert into runs (environment, workflow, version, subject, created_at, trace_context)
             select s.environment, $1, $2, s.subject, clock_timestamp() + e.clock_offset, $6
             from unnest($3::int[], $4::text[]) s(environment, subject)
               cross join lateral (select clock_offset from environments where id = s.environment limit 1) e
             returning id, job_kind, environment, created_at
           )
           insert into due (kind, id, environment, due_at) select job_kind, id, environment, created_at + make_interval(secs => $5) from made`,
    values: [
      workflow,
      version,
      subjects.map(({ environment }) => environment),
      subjects.map(({ subject }) => subject),
      afterSeconds,
      subjects.length === 1 ? storedTrace() : linkedTrace(),
    ],
  })
  announceJobs(tx, jobKindOf({ workflow, version }))
}

/** A claimed run of a workflow. */
export type ClaimedRun = ClaimedJob & { subject: string }

/**
 * The subject of a claimed run, which is running from here on. Null: there is no such run, or another worker has claimed it since and
 * may even have ended it.
 */
export async function beginRun(db: Db, claimed: ClaimedJob): Promise<ClaimedRun | null> {
  const { rows } = await db.query<{ subject: string }>({
    name: 'begin-run',
    text: `with locked as materialized (select 1 from due where kind = $3 and id = $1 and fence = $4 for no key update),
           started as (
             update runs set status = 'running', started_at = coalesce(started_at, environment_now(environment))
             where id = $1 and environment = $2 and status <> 'running' and exists (select 1 from locked)
           )
           select subject from runs where id = $1 and environment = $2 and exists (select 1 from locked)`,
    values: [claimed.id, claimed.environment, claimed.kind, claimed.fence],
  })
  return rows[0] ? { ...claimed, ...rows[0] } : null
}

/** In SQL: whether an unfinished run of the workflow has this subject. */
export const unfinishedRunExists = ({ workflow }: { workflow: string }, environment: string, subject: string): string =>
  `exists (select 1 from runs w where w.environment = ${environment} and w.subject = ${subject} and w.workflow = '${workflow}' and w.finished_at is null)`

/** Creates a run in place of one that is gone. The executor of the former run may still write with its fence: the fence of this run is higher. */
export async function recreateRun(tx: Tx, environment: Environment, run: NewRun): Promise<void> {
  const id = await createRun(tx, environment, run)
  await tx.query(`update due set fence = ${RECREATED_FENCE} where kind = $1 and id = $2`, [jobKindOf(run), id])
}

/** Cancels the runs of these subjects. An executor that has claimed one can record nothing more: the job is gone. */
export async function cancelRuns(tx: Tx, environment: Environment, workflow: string, subjects: string[]): Promise<void> {
  const { rows } = await tx.query<{ id: number }>(
    `delete from due d using runs r where r.environment = $1 and r.subject = any ($2) and r.workflow = $3 and d.kind = r.job_kind and d.id = r.id
     returning d.id`,
    [environment, subjects, workflow],
  )
  await tx.query(`update runs set status = 'cancelled', finished_at = environment_now($2) where id = any ($1::bigint[])`, [
    rows.map(({ id }) => id),
    environment,
  ])
}

/** Deletes all runs of these subjects, with their jobs and steps. An executor that has claimed one can record nothing more. */
export async function deleteRunsOf(tx: Tx, environment: Environment, subjects: readonly string[]): Promise<void> {
  await tx.query(
    'delete from due d using runs r where r.environment = $1 and r.subject = any ($2) and d.kind = r.job_kind and d.id = r.id',
    [environment, subjects],
  )
  await tx.query('delete from runs where environment = $1 and subject = any ($2)', [environment, subjects])
}

/** Locks the jobs of workflow runs, in the order of their ids. `runs`: a query of the runs' ids. */
export const lockJobsOfRuns = (tx: Tx, runs: string, values: unknown[]): Promise<unknown> =>
  tx.query(
    `select 1 from due d join (select id, job_kind from runs where id = any (array(${runs}))) r on d.kind = r.job_kind and d.id = r.id
     order by d.id for no key update of d`,
    values,
  )

/** Ends the claims of runs: their executors can record nothing more, and their leases run out. */
export const revokeClaims = (tx: Tx, runs: readonly number[]): Promise<unknown> =>
  tx.query('update due d set fence = fence + 1 from runs r where r.id = any ($1::bigint[]) and d.kind = r.job_kind and d.id = r.id', [runs])

const KEPT_DAYS = 90

// now() and not clock_timestamp(): only a stable time can be an index condition.
const DROP = `
with old as materialized (
  select r.id from environments e cross join lateral (
    select id from runs where environment = e.id and finished_at < now() + e.clock_offset - make_interval(days => $1)
    order by finished_at limit $2) r where $3::int is null or e.id = $3 limit $2
), locked as materialized (
  ${lockInOrder({ table: 'runs', key: 'id', keys: 'array(select id from old)', strength: 'update skip locked' })}
)
delete from runs where id = any (array(select id from locked))`

/** Removes runs, with their steps, 90 days after their end by the clock of their environment; at most `batch` at once. */
export async function dropOldRuns(db: Db, batch: number, environment: Environment | null): Promise<number> {
  const { rowCount } = await db.query(DROP, [KEPT_DAYS, batch, environment])
  return rowCount ?? 0
}
