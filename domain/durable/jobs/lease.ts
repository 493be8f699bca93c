import type { Db } from '../../../store/connect.ts'
import { announceJobs } from './job.ts'

/** `unrecordedMs`: how long an effect that is not recorded has been under way. */
export type HeldLease = { kind: string; id: number; fence: number; unrecordedMs?: number | null }

const columns = (held: HeldLease[]) => [held.map(h => h.kind), held.map(h => h.id), held.map(h => h.fence)]
const HELD = 'unnest($1::text[], $2::bigint[], $3::int[]) h(kind, id, fence)'
// One probe of the index for each: a join reads all jobs that wait, for their order or because it was planned while the table was empty.
const leasedOf = (lock = '') => `cross join lateral (
    select kind, id from due where kind = h.kind and id >= h.id and id <= h.id and fence = h.fence and lease_until is not null
    order by id limit 1 ${lock}) d`

/** By `kind:id`. `busy`: still held, but another transaction has locked the row. A job in neither set was lost, released or suspended. */
export type Renewed = { renewed: Set<string>; busy: Set<string> }

// A suspended job keeps its last fence. Only live leases are renewed, or a late heartbeat would lease a job again that no worker executes.
// Locked rows are skipped, for two reasons: one job whose record takes long would let the leases of all other jobs expire; and locks taken
// in another order than that of the claims would deadlock with the transactions that record.
const RENEW = `
  with h as materialized (select * from ${HELD}),
  free as materialized (
    select d.kind, d.id from h ${leasedOf('for no key update skip locked')}
  ), renewed as (
    update due d set lease_until = greatest(d.lease_until, clock_timestamp() + make_interval(secs => $4::float8 / 1000)), batched_until = null
    from free
    where d.kind = free.kind and d.id = free.id returning d.kind, d.id
  )
  select kind, id, true as is_renewed from renewed
  union all
  select d.kind, d.id, false from h ${leasedOf()}
  where (d.kind, d.id) not in (select kind, id from free)`

/** Heartbeat: renews the leases that are still held. */
export async function renewLeases(db: Db, held: HeldLease[], leaseMs: number): Promise<Renewed> {
  const { rows } = await db.query<{ kind: string; id: number; is_renewed: boolean }>({
    name: 'renew-leases',
    text: RENEW,
    values: [...columns(held), leaseMs],
  })
  const keys = (isRenewed: boolean) => new Set(rows.filter(row => row.is_renewed === isRenewed).map(row => `${row.kind}:${row.id}`))
  return { renewed: keys(true), busy: keys(false) }
}

/**
 * Lets leases run out now that a late heartbeat has renewed, of jobs that their worker had given up: nobody executes them, and they would wait for another
 * lease. They lapse like any lease that runs out.
 */
export const endLeases = (db: Db, held: HeldLease[]): Promise<unknown> =>
  db.query({
    name: 'end-leases',
    text: `with locked as materialized (
         select d.kind, d.id from (select * from ${HELD} order by kind, id) h ${leasedOf('for no key update')}
       )
       update due d set lease_until = least(d.lease_until, clock_timestamp()) from locked l where d.kind = l.kind and d.id = l.id`,
    values: columns(held),
  })

/**
 * Releases unfinished jobs that this process does not execute, or does not execute any more: another worker may claim them at once. The
 * claims whose effects may have happened count as lapsed (`lapse.ts`).
 */
export async function releaseLeases(db: Db, held: HeldLease[]): Promise<void> {
  if (held.length === 0) return
  // Locked in the order in which every statement locks jobs.
  const { rows } = await db.query<{ kind: string }>(
    `with locked as materialized (
       select d.kind, d.id, h.unrecorded
       from (select * from unnest($1::text[], $2::bigint[], $3::int[], $4::float8[]) h(kind, id, fence, unrecorded) order by kind, id) h
         ${leasedOf('for no key update')}
     )
     update due d set lease_until = null, batched_until = null,
       lapsed_at = coalesce(d.lapsed_at, clock_timestamp() - make_interval(secs => l.unrecorded / 1000))
     from locked l where d.kind = l.kind and d.id = l.id returning d.kind`,
    [...columns(held), held.map(({ unrecordedMs = null }) => unrecordedMs)],
  )
  for (const { kind } of rows) announceJobs(db, kind)
}
