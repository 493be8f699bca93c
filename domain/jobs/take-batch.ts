import type { Db } from '../../store/connect.ts'
import type { ClaimedJob } from './job.ts'

/** What a ring stood for, as far as it is still due, and for how many milliseconds from the asking on it is ours. */
export type TakenBatch = { claimed: ClaimedJob[]; leftMs: number }

// The sweep holds the promises of a ring for whoever takes it, and of two with the same ring one gets the row and the other none. What was
// moved, ended or taken over meanwhile is passed over, as any claim would.
const ANSWER = `
  with taken as materialized (
    delete from batches where number = $1 and kind = $2 and until > clock_timestamp() + make_interval(secs => $3::float8 / 1000)
    returning until, ids, fences
  ), held as materialized (
    select id, fence, environment, destination, due_at from due
    where kind = $2 and id = any (array(select unnest(ids) from taken)) and lease_until is not null
  ), clocks as materialized (
    select id, clock_timestamp() + clock_offset as now from environments where id = any (array(select environment from held))
  )
  select h.id, h.fence, h.environment, h.destination, (extract(epoch from t.until - clock_timestamp()) * 1000)::float8 as left_ms
  from taken t cross join lateral unnest(t.ids, t.fences) u(id, fence)
    join held h on h.id = u.id and h.fence = u.fence join clocks c on c.id = h.environment and h.due_at <= c.now`

/** Takes a ring that can be taken for `marginMs` more at least. */
export async function takeBatch(db: Db, kind: string, number: number, marginMs: number): Promise<TakenBatch> {
  const { rows } = await db.query<Omit<ClaimedJob, 'kind'> & { left_ms: number }>({
    name: 'answer-ring',
    text: ANSWER,
    values: [number, kind, marginMs],
  })
  const claimed = rows.map(({ id, fence, environment, destination }) => ({ kind, id, fence, environment, destination }))
  return { claimed, leftMs: rows[0]?.left_ms ?? 0 }
}

/** Whose promises a ring stands for, each once; none: it was taken, or has too little of its time left. */
export async function groupsOfBatch(
  db: Db,
  kind: string,
  number: number,
  marginMs: number,
): Promise<Pick<ClaimedJob, 'environment' | 'destination'>[]> {
  const { rows } = await db.query<Pick<ClaimedJob, 'environment' | 'destination'>>({
    name: 'look-at-ring',
    text: `select distinct u.environment, nullif(u.destination, 0) as destination
           from batches r cross join unnest(r.environments, r.destinations) u(environment, destination)
           where r.number = $1 and r.kind = $2 and r.until > clock_timestamp() + make_interval(secs => $3::float8 / 1000)`,
    values: [number, kind, marginMs],
  })
  return rows
}
