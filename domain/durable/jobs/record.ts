import type { Db, Tx } from '../../../store/connect.ts'
import { FIRST_FENCE } from './claim-on-insert.ts'
import { type ClaimedJob, LeaseLost, leaseLost } from './job.ts'
import { deleteClaimedJobs } from './sql.ts'

/** `duration_ms` null: the worker ended before it recorded the attempt. */
export type Attempt = { number: number; started_at: string; duration_ms: number | null; error: string | null }
export type StepStatus = 'running' | 'waiting' | 'succeeded' | 'failed'
export type RecordedStep = { n: number; name: string; status: StepStatus; result: unknown; attempts: Attempt[]; is_due: boolean }
export type StepRecord = { n: number; name: string; status: StepStatus; result?: unknown; attempts?: Attempt[]; startedAt: string }

/** The run's steps so far, in order. `is_due`: a sleep whose deadline has passed on the environment's clock. */
export async function recordedSteps(db: Db, run: ClaimedJob): Promise<RecordedStep[]> {
  // Nothing is recorded before the first claim.
  return run.fence === FIRST_FENCE ? [] : readSteps(db, run)
}

/** In SQL: whether a run of table `runs` has recorded no step. A job that only waited in lost batches has a higher fence than the first, too. */
export const NOTHING_RECORDED = '(select 1 from steps where run = runs.id limit 1) is null'

async function readSteps(db: Db, run: ClaimedJob): Promise<RecordedStep[]> {
  const { rows } = await db.query<RecordedStep>({
    name: 'recorded-steps',
    text: `select n, name, status, result, attempts, coalesce(due_at <= environment_now($2), false) as is_due from steps where run = $1 order by n`,
    values: [run.id, run.environment],
  })
  return rows
}

const WRITE = `
  insert into steps (run, n, name, status, started_at, finished_at, due_at, result, attempts)
  select $1, s.n, s.name, s.status, s.started_at, case when s.status in ('succeeded', 'failed') then t end,
    case when s.status = 'waiting' then t + make_interval(secs => $3) end, s.result, s.attempts
  from environment_now($2) t, unnest($4::int[], $5::text[], $6::text[], $7::timestamptz[], $8::jsonb[], $9::jsonb[])
    s(n, name, status, started_at, result, attempts)
  on conflict (run, n) do update set status = excluded.status, finished_at = excluded.finished_at, result = excluded.result,
    attempts = excluded.attempts, due_at = coalesce(steps.due_at, excluded.due_at)
    where steps.status in ('running', 'waiting')`

/** Writes steps in a transaction that has locked the fence. `waitSeconds`: a sleep's length; its deadline is stored, not its length. */
export async function writeSteps(tx: Tx, run: ClaimedJob, steps: readonly StepRecord[], waitSeconds = 0): Promise<void> {
  const { rowCount } = await tx.query({
    name: 'write-steps',
    text: WRITE,
    values: [
      run.id,
      run.environment,
      waitSeconds,
      steps.map(({ n }) => n),
      steps.map(({ name }) => name),
      steps.map(({ status }) => status),
      steps.map(({ startedAt }) => startedAt),
      steps.map(({ result = null }) => JSON.stringify(result)),
      steps.map(({ attempts = [] }) => JSON.stringify(attempts)),
    ],
  })
  const names = steps.map(({ n, name }) => `${n} (${name})`).join(', ')
  if (rowCount !== steps.length) throw new Error(`of the steps ${names} of run ${run.id} some were final already`)
}

/**
 * Whether all of these final steps are recorded, in a transaction that has locked the fence: then the transaction of this worker that wrote
 * them was committed. False for none.
 */
export async function areWritten(tx: Tx, run: ClaimedJob, steps: readonly StepRecord[]): Promise<boolean> {
  if (steps.length === 0) return false
  const recorded = new Map((await readSteps(tx, run)).map(({ n, status }) => [n, status]))
  return steps.every(({ n, status }) => recorded.get(n) === status)
}

/** Ends this worker's claim: the run sleeps, or waits for its next attempt, until the step's deadline. */
export async function suspendRun(tx: Tx, run: ClaimedJob, status: 'running' | 'waiting', seconds: number): Promise<void> {
  await tx.query(
    `update due set due_at = environment_now($3) + make_interval(secs => $4), lease_until = null, batched_until = null where kind = $1 and id = $2`,
    [run.kind, run.id, run.environment, seconds],
  )
  await tx.query('update runs set status = $2 where id = $1', [run.id, status])
}

/** Ends the run: it can no longer be claimed. Call it in a transaction that has locked the fence. */
export async function finishRun(tx: Tx, run: ClaimedJob, status: 'succeeded' | 'failed', reason: string | null): Promise<void> {
  await tx.query({ name: 'finish-run', text: FINISH, values: [run.kind, run.id, run.fence, run.environment, status, reason] })
}

/** Ends a run that has nothing else to record. */
export async function endRun(db: Db, run: ClaimedJob): Promise<void> {
  const values = [run.kind, run.id, run.fence, run.environment, 'succeeded', null]
  const { rowCount } = await db.query({ name: 'finish-run', text: FINISH, values })
  if (rowCount !== 1) throw leaseLost(run)
}

/**
 * Ends runs of one kind as succeeded that have no recorded steps: all of their effects are in this transaction, which has locked their
 * fences. Such a run was not marked as running before.
 */
export async function finishRuns(tx: Tx, kind: string, claimed: readonly Pick<ClaimedJob, 'id' | 'fence'>[]): Promise<void> {
  const { rowCount } = await tx.query({
    name: `finish-runs-${kind}`,
    text: `with gone as materialized (${deleteClaimedJobs(kind, 'claimed.id', 'unnest($1::bigint[], $2::int[]) claimed(id, fence)')})
           update runs r set status = 'succeeded', started_at = coalesce(r.started_at, g.now), finished_at = g.now
           from (select gone.id, clock_timestamp() + e.clock_offset as now
                 from gone cross join lateral (select clock_offset from environments where id = gone.environment limit 1) e) g
           where r.id = g.id`,
    values: [claimed.map(({ id }) => id), claimed.map(({ fence }) => fence)],
  })
  if (rowCount !== claimed.length) throw new LeaseLost(`of ${claimed.length} runs of ${kind} some belong to other workers`)
}

// Deleting the row locks it, and finds it changed if another worker has claimed the run meanwhile.
const FINISH = `
  with gone as (delete from due where kind = $1 and id = $2 and fence = $3 returning id)
  update runs set status = $5, reason = $6, finished_at = environment_now($4) from gone where runs.id = gone.id`
