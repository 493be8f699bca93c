import type { Db } from '../../../store/connect.ts'
import { type ClaimedJob, type ClaimedRow, claimedJob, dueMs } from './job.ts'

/** The jobs of a batch that are still due, and for how many milliseconds their leases last, counted from the request on. */
export type TakenBatch = { claimed: ClaimedJob[]; leftMs: number }
/** The environment and the destination of a job: both count for the capacity. */
export type JobGroup = Pick<ClaimedJob, 'environment' | 'destination'>

// Condition on a batch: at least $3 milliseconds of its lease are left.
const HAS_TIME_LEFT = 'until > clock_timestamp() + make_interval(secs => $3::float8 / 1000)'

// The sweep has leased the jobs of a batch for the worker that takes it. Of two workers with the same message one deletes the row, the other
// finds none. A job that was rescheduled, finished or claimed by another worker meanwhile is skipped, as by any claim.
const TAKE = `
  with taken as materialized (
    delete from batches where number = $1 and kind = $2 and ${HAS_TIME_LEFT}
    returning until, ids, fences
  ), leased as materialized (
    select id, fence, environment, destination, due_at, lapsed_at from due
    where kind = $2 and id = any (array(select unnest(ids) from taken)) and lease_until is not null
  ), clocks as materialized (
    select id, clock_offset, clock_timestamp() + clock_offset as now from environments where id = any (array(select environment from leased))
  )
  select l.id, l.fence, l.environment, l.destination, l.lapsed_at is not null as has_lapsed,
    ${dueMs('l.due_at', 'c.clock_offset')} as due_ms, (extract(epoch from t.until - clock_timestamp()) * 1000)::float8 as left_ms
  from taken t cross join lateral unnest(t.ids, t.fences) u(id, fence)
    join leased l on l.id = u.id and l.fence = u.fence join clocks c on c.id = l.environment and l.due_at <= c.now`

/** Takes a batch whose lease lasts for at least `marginMs` more. */
export async function takeBatch(db: Db, kind: string, number: number, marginMs: number): Promise<TakenBatch> {
  const { rows } = await db.query<ClaimedRow & { left_ms: number }>({
    name: 'take-batch',
    text: TAKE,
    values: [number, kind, marginMs],
  })
  return { claimed: rows.map(row => claimedJob(kind, row)), leftMs: rows[0]?.left_ms ?? 0 }
}

/** The groups of the jobs of a batch, each once. None: another worker has taken the batch, or its lease lasts for less than `marginMs`. */
export async function groupsOfBatch(db: Db, kind: string, number: number, marginMs: number): Promise<JobGroup[]> {
  const { rows } = await db.query<JobGroup>({
    name: 'groups-of-batch',
    text: `select distinct u.environment, nullif(u.destination, 0) as destination
           from batches b cross join unnest(b.environments, b.destinations) u(environment, destination)
           where b.number = $1 and b.kind = $2 and b.${HAS_TIME_LEFT}`,
    values: [number, kind, marginMs],
  })
  return rows
}
