import { FIRST_FENCE } from './claim-on-insert.ts'

// SQL that writes and locks rows of the table of due jobs, for statements that change something else at the same time. No other folder
// writes this table or checks a fence.

/** Postgres channel on which a job that is due at once is announced to the workers. A lost notice costs a second, never work. */
export const JOB_CHANNEL = 'due'

/** A kind as SQL: its name as a text, `kind` for the column of that name. */
const kindSql = (kind: string): string => (kind === 'kind' ? kind : `'${kind}'`)

/**
 * The fence of a job for something that had a job before. It is higher than any fence of the former job: what its executor still wants to
 * record is void, and the new job does not look like one that was never claimed, of which nothing can be recorded yet. Seconds since
 * 2023: a claim lasts at least one second, and the seconds fit until 2091.
 */
export const RECREATED_FENCE = 'floor(extract(epoch from clock_timestamp()) - 1700000000)::int'

/** A job is not due before it is written, so that nothing appears below the time up to which the sweeps have read (`floors.ts`). */
const notBefore = (dueAt: string): string => `greatest(${dueAt}, clock_timestamp())`

const IF_EXISTS = {
  keep: 'do nothing',
  reschedule: 'do update set due_at = excluded.due_at, batched_until = null, lease_until = null',
  advance: 'do update set due_at = excluded.due_at where due.due_at > excluded.due_at',
}

/** SQL expressions over the rows of `from`, which may include `where` and `order by`. */
export type NewJobs = {
  kind: string
  id: string
  environment: string
  /** On the environment's clock. */
  dueAt: string
  from?: string
  /** 0 unless given. */
  priority?: string
  /** Number of the integration that the effect goes to. */
  destination?: string
  /** Until when the inserting process holds the job, which it thereby claims; null: it does not. */
  lease?: string
  /** The same thing had a job before. */
  isRecreated?: boolean
  /**
   * `keep`: a job that exists stays as it is; `reschedule`: it gets the new time, and its claim ends; `advance`: it is due by the new time, and
   * its claim stays. Without this, an existing job is an error.
   */
  ifExists?: 'keep' | 'reschedule' | 'advance'
}

/** Inserts a job for each row. */
export function insertJobs({ kind, id, environment, dueAt, from, priority, destination, lease, isRecreated, ifExists }: NewJobs): string {
  const columns: [name: string, value: string | undefined][] = [
    ['kind', kindSql(kind)],
    ['id', id],
    ['environment', environment],
    ['due_at', notBefore(dueAt)],
    ['priority', priority],
    ['destination', destination],
    ['lease_until', lease],
    ['fence', isRecreated ? RECREATED_FENCE : lease && `case when ${lease} is null then 0 else ${FIRST_FENCE} end`],
  ]
  const given = columns.filter(([, value]) => value !== undefined)
  const source = from === undefined ? '' : ` from ${from}`
  const conflict = ifExists === undefined ? '' : ` on conflict (kind, id) ${IF_EXISTS[ifExists]}`
  return `insert into due (${given.map(([name]) => name).join(', ')}) select ${given.map(([, value]) => value).join(', ')}${source}${conflict}`
}

type Strength = 'update' | 'no key update'

/** Locks a job. */
export const lockJob = (kind: string, id: string, strength: Strength = 'no key update'): string =>
  `select id, fence, environment from due where kind = '${kind}' and id = ${id} for ${strength}`

/**
 * Locks the jobs of an array of ids in the order of their ids, as every statement locks them. `is_free`: no worker has claimed the job. One
 * probe of the index for each: up to Postgres 16 a plan takes the index for the order alone and reads every job of the kind.
 */
export const lockJobs = (kind: string, ids: string, strength: Strength = 'no key update'): string =>
  `select l.id, l.fence, l.environment, l.is_free from (select distinct id from unnest(${ids}) w(id) order by id) w cross join lateral (
     select id, fence, environment, lease_until is null as is_free from due where kind = '${kind}' and id >= w.id and id <= w.id order by id limit 1 for ${strength}) l`

/**
 * In SQL: one of the ids of an array, of which the plan does not know how many there are. Where it knows, and the table has no statistics, it
 * takes a read of all jobs of the kind for cheaper than some dozens of probes.
 */
export const idIn = (ids: string): string => `any (array(select unnest(${ids})))`

/** Ends jobs: they can no longer be claimed, and a worker that has claimed one can record nothing. */
export const deleteJobs = (kind: string, ids: string): string => `delete from due where kind = '${kind}' and id = ${ids}`

/** The jobs of `claimed(id, fence)` end, as far as their fences are still those. The deletion locks a row and checks its fence once more. */
export const deleteClaimedJobs = (kind: string, ids: string, claimed: string): string =>
  `delete from due d using ${claimed} where d.kind = '${kind}' and d.id = ${ids} and d.id = claimed.id and d.fence = claimed.fence
   returning d.id, d.fence, d.environment`

/** `d` is the job's row. */
export type ChangedJobs = { kind: string; dueAt: string; from?: string; where: string }

const change = (changes: string, { kind, from, where }: ChangedJobs): string =>
  `update due d set ${changes}${from === undefined ? '' : ` from ${from}`} where d.kind = '${kind}' and ${where}`

/** Moves jobs to another time; their claims stay. */
export const rescheduleJobs = (jobs: ChangedJobs): string => change(`due_at = ${notBefore(jobs.dueAt)}`, jobs)

/** Ends the claims of jobs, which are due again at another time. */
export const suspendJobs = (jobs: ChangedJobs): string =>
  change(`due_at = ${notBefore(jobs.dueAt)}, lease_until = null, batched_until = null`, jobs)

/** Whether a worker has claimed the job, and has not given it back. */
export const isClaimed = (kind: string, id: string): string =>
  `exists (select 1 from due d where d.kind = '${kind}' and d.id = ${id} and d.fence > 0 and d.lease_until is not null)`

/** Of a row `d`: whether no executor works on it. A job in a batch that no executor has taken waits. */
export const isWaiting = (d: string): string =>
  `(${d}.lease_until is null or ${d}.lease_until < clock_timestamp() or ${d}.batched_until > clock_timestamp())`
