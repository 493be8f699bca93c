import type { Db, Tx } from '../../../store/connect.ts'
import { notifyAfterCommit } from '../../../store/notify.ts'
import type { Environment } from '../../kernel/environment.ts'
import { deleteJobs, insertJobs, JOB_CHANNEL, lockJobs } from './sql.ts'

/** A job or an event that waits for longer is overdue. */
export const OVERDUE_SECONDS = 60

/**
 * A job that this worker process has claimed. Each record of its work must show the same fence. `hasLapsed`: a former claim has lapsed
 * (`lapse.ts`). `dueAt`: when it fell due, in real time, in Unix milliseconds; unless given, with the claim.
 */
export type ClaimedJob = {
  kind: string
  id: number
  fence: number
  environment: Environment
  destination: number | null
  hasLapsed?: true
  dueAt?: number
}

/** A claimed job as a statement gives it. */
export type ClaimedRow = Pick<ClaimedJob, 'id' | 'fence' | 'environment' | 'destination'> & { has_lapsed: boolean; due_ms?: number }

/** In SQL: the column `due_ms` of a `ClaimedRow`. `offset`: of the environment's clock. */
export const dueMs = (dueAt: string, offset: string): string => `(extract(epoch from ${dueAt} - ${offset}) * 1000)::float8`

export const claimedJob = (kind: string, { id, fence, environment, destination, has_lapsed, due_ms }: ClaimedRow): ClaimedJob => ({
  kind,
  id,
  fence,
  environment,
  destination,
  ...(has_lapsed && { hasLapsed: true }),
  ...(due_ms !== undefined && { dueAt: due_ms }),
})

/** Another worker has claimed the job: nothing was recorded, and this worker drops the job. Counted, retried elsewhere, never a failure. */
export class LeaseLost extends Error {}

export const leaseLost = ({ kind, id }: Pick<ClaimedJob, 'kind' | 'id'>): LeaseLost =>
  new LeaseLost(`${kind} ${id} belongs to another worker`)

/**
 * Locks the job's row if the fence is still this worker's. The transaction then records as the owner of the job: another claim waits for
 * the commit and then sees the record. (A join on the fence without the lock would let a stale record in.) Returns the time on the
 * environment's clock and when the job was due; null: another worker has the job, or it has ended.
 */
export async function tryLockFence(tx: Tx, { kind, id, fence }: Pick<ClaimedJob, 'kind' | 'id' | 'fence'>): Promise<LockedJob | null> {
  const { rows } = await tx.query<LockedJob>({
    name: 'lock-fence',
    text: `select environment_now(environment) as now, due_at::text as due_at from due
           where kind = $1 and id = $2 and fence = $3 for no key update`,
    values: [kind, id, fence],
  })
  return rows[0] ?? null
}

/** Times with microseconds. */
export type LockedJob = { now: string; due_at: string }

/** The same, but throws `LeaseLost` instead of null. Returns the time on the environment's clock. */
export async function lockFence(tx: Tx, job: Pick<ClaimedJob, 'kind' | 'id' | 'fence'>): Promise<string> {
  const locked = await tryLockFence(tx, job)
  if (locked === null) throw leaseLost(job)
  return locked.now
}

/** The same, for a record that is repeated. A claim that has ended because the job waits or was released does not belong to this worker any more. */
export async function lockClaim(tx: Tx, job: Pick<ClaimedJob, 'kind' | 'id' | 'fence'>): Promise<string> {
  const now = await lockFence(tx, job)
  const { rowCount } = await tx.query('select 1 from due where kind = $1 and id = $2 and lease_until is not null', [job.kind, job.id])
  if (rowCount !== 1) throw leaseLost(job)
  return now
}

/** Locks the jobs whose fence is still this worker's, in the order of their ids; gives these ids. The others belong to another worker, or have ended. */
export async function lockFences(tx: Tx, kind: string, claimed: readonly Pick<ClaimedJob, 'id' | 'fence'>[]): Promise<Set<number>> {
  const { rows } = await tx.query<Pick<ClaimedJob, 'id' | 'fence'>>({
    name: `lock-fences-${kind}`,
    text: lockJobs(kind, '$1::bigint[]'),
    values: [claimed.map(({ id }) => id)],
  })
  const fences = new Map(rows.map(({ id, fence }) => [id, fence]))
  return new Set(claimed.filter(({ id, fence }) => fences.get(id) === fence).map(({ id }) => id))
}

/** Locks the job of a timer if it is due: a batch may arrive late, after another worker has done the work. */
export async function lockIfDue(tx: Tx, kind: string, id: number): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'lock-if-due',
    text: `select 1 from due d join environments e on e.id = d.environment
           where d.kind = $1 and d.id = $2 and d.due_at <= clock_timestamp() + e.clock_offset for no key update of d`,
    values: [kind, id],
  })
  return rowCount === 1
}

/** Ends a job: it can no longer be claimed, and a worker that has claimed it can record nothing. */
export const deleteJob = (db: Db, kind: string, id: number): Promise<unknown> =>
  db.query({ name: `delete-job-${kind}`, text: deleteJobs(kind, '$1'), values: [id] })

/** Ends a claimed job that has nothing to record; another worker's claim stays. */
export const deleteClaimedJob = (db: Db, { kind, id, fence }: ClaimedJob): Promise<unknown> =>
  db.query('delete from due where kind = $1 and id = $2 and fence = $3', [kind, id, fence])

/** Notifies the workers, after the commit, that jobs of the kind may be due. A lost notice costs a second, never work. */
export const announceJobs = (db: Db, kind: string): void => notifyAfterCommit(db, JOB_CHANNEL, kind)

/**
 * Inserts a job for each unfinished subject that has none: `missing` selects (kind, id, environment, due_at, destination) under row locks.
 * Returns how many.
 */
export async function recreateJobs(tx: Tx, missing: string, values: unknown[]): Promise<number> {
  const { rows } = await tx.query<{ kind: string }>(
    `with missing(kind, id, environment, due_at, destination) as materialized (${missing}), recreated as (
       ${insertJobs({
         kind: 'kind',
         id: 'id',
         environment: 'environment',
         dueAt: 'due_at',
         destination: 'destination',
         isRecreated: true,
         from: 'missing',
         ifExists: 'keep',
       })} returning kind
     ) select kind from recreated`,
    values,
  )
  for (const { kind } of rows) announceJobs(tx, kind)
  return rows.length
}
