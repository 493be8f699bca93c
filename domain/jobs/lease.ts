import type { Db } from '../../store/connect.ts'
import { JOB_CHANNEL } from './sql.ts'

type HeldLease = { kind: string; id: number; fence: number }

const columns = (held: HeldLease[]) => [held.map(h => h.kind), held.map(h => h.id), held.map(h => h.fence)]
const MATCH = `from unnest($1::text[], $2::bigint[], $3::int[]) h(kind, id, fence) where d.kind = h.kind and d.id = h.id and d.fence = h.fence`

/** By `kind:id`. `busy`: still held, but its row is locked just now; what is in neither has been lost, given back or is at rest. */
export type Renewed = { renewed: Set<string>; busy: Set<string> }

// A row that rests keeps the fence of who put it to rest: whoever is late with a heartbeat must not hold it again, nobody would claim it.
// And nobody is waited for: one promise that is being recorded for long would let all others' leases run out, and rows that are locked
// in no order but that of the claims would deadlock with those who record.
const PROLONG = `
  with h as materialized (select * from unnest($1::text[], $2::bigint[], $3::int[]) h(kind, id, fence)),
  free as materialized (
    select d.kind, d.id from due d join h on d.kind = h.kind and d.id = h.id and d.fence = h.fence
    where d.lease_until is not null for no key update of d skip locked
  ), prolonged as (
    update due d set lease_until = greatest(d.lease_until, clock_timestamp() + make_interval(secs => $4::float8 / 1000)), batched_until = null
    from free
    where d.kind = free.kind and d.id = free.id returning d.kind, d.id
  )
  select kind, id, true as is_prolonged from prolonged
  union all
  select d.kind, d.id, false from due d join h on d.kind = h.kind and d.id = h.id and d.fence = h.fence
  where d.lease_until is not null and (d.kind, d.id) not in (select kind, id from free)`

/** Heartbeat: prolongs what is still held. */
export async function renewLeases(db: Db, held: HeldLease[], leaseMs: number): Promise<Renewed> {
  const { rows } = await db.query<{ kind: string; id: number; is_prolonged: boolean }>({
    name: 'prolong-leases',
    text: PROLONG,
    values: [...columns(held), leaseMs],
  })
  const named = (which: boolean) => new Set(rows.filter(row => row.is_prolonged === which).map(row => `${row.kind}:${row.id}`))
  return { renewed: named(true), busy: named(false) }
}

/** Gives runs back unfinished (the process stops): another worker may take them at once. */
export async function releaseLeases(db: Db, held: HeldLease[]): Promise<void> {
  if (held.length === 0) return
  await db.query(
    `with freed as (update due d set lease_until = null, batched_until = null ${MATCH} returning d.kind)
    select pg_notify('${JOB_CHANNEL}', kind) from freed`,
    columns(held),
  )
}
