import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { InsertCapacity } from './claim-on-insert.ts'
import { hasNoTurns } from './groups.ts'
import { announceJobs, type ClaimedJob, type ClaimedRow, claimedJob } from './job.ts'
import { idIn, lockJobs, rescheduleJobs } from './sql.ts'

/** Kind of the jobs of automation runs; a job's id is the run's number. */
export const AUTOMATION_RUN_DUE = 'automation-run'

const LOCKED = lockJobs(AUTOMATION_RUN_DUE, '$2::bigint[]')
const WAKE = `
  with locked as materialized (${LOCKED})
  ${rescheduleJobs({
    kind: AUTOMATION_RUN_DUE,
    dueAt: 'environment_now($1)',
    // The environment is no condition on the job: without statistics the index by time would be read for it.
    where: 'd.id = any (array(select id from locked where environment = $1))',
  })}`

/** Makes runs due now, because the event that they waited for has come. The workers are notified after the commit. */
export async function wakeRuns(tx: Tx, environment: Environment, numbers: number[]): Promise<void> {
  if (numbers.length === 0) return
  const woken = await tx.query({ name: 'wake-automation-runs', text: WAKE, values: [environment, numbers] })
  if (woken.rowCount !== 0) announceJobs(tx, AUTOMATION_RUN_DUE)
}

// A run that a worker executes keeps its claim: it looks again when it is suspended. The others may be claimed at once.
const WAKE_LOCKED = `
  with woken as materialized (
    select l.id, l.environment, l.is_free, row_number() over (partition by l.is_free order by l.id) as nth
    from unnest($1::bigint[], $2::int[], $3::boolean[]) l(id, environment, is_free)
  ), claimed as materialized (
    select id from woken where is_free and nth <= $4 and ${hasNoTurns('woken.environment')}
  )
  update due d set due_at = greatest(environment_now(d.environment), clock_timestamp()), fence = d.fence + (c.id is not null)::int,
    batched_until = case when c.id is null then d.batched_until end,
    lease_until = case when c.id is null then d.lease_until else clock_timestamp() + make_interval(secs => $5::float8 / 1000) end
  from woken w left join claimed c on c.id = w.id
  where d.kind = '${AUTOMATION_RUN_DUE}' and d.id = ${idIn('$1::bigint[]')} and d.id = w.id
  returning d.id, d.fence, d.environment, d.destination, d.lapsed_at is not null as has_lapsed, c.id is not null as is_claimed`

/** A run's job that this transaction has locked. `is_free`: no worker has claimed it. */
export type LockedRun = { id: number; environment: Environment; is_free: boolean }

/** Wakes runs whose jobs this transaction has locked. Returns the jobs that it has claimed, as far as there is capacity. */
export async function wakeLockedRuns(tx: Tx, runs: readonly LockedRun[], capacity: InsertCapacity | null): Promise<ClaimedJob[]> {
  if (runs.length === 0) return []
  const { rows } = await tx.query<ClaimedRow & { is_claimed: boolean }>({
    name: 'wake-locked-runs',
    text: WAKE_LOCKED,
    values: [
      runs.map(({ id }) => id),
      runs.map(({ environment }) => environment),
      runs.map(({ is_free }) => is_free),
      capacity?.most ?? 0,
      capacity?.leaseMs ?? 0,
    ],
  })
  if (rows.some(({ is_claimed }) => !is_claimed)) announceJobs(tx, AUTOMATION_RUN_DUE)
  return rows.filter(({ is_claimed }) => is_claimed).map(row => claimedJob(AUTOMATION_RUN_DUE, row))
}
