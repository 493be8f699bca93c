import { LOCK } from '../../store/advisory-locks.ts'
import type { Db } from '../../store/connect.ts'
import type { ClaimedJob } from './job.ts'

/** Stands for `count` promises that are due: whoever takes it first has them. */
export type Batch = { number: number; count: number }

/** What a sweep may claim of a kind: so many, none of them of those that have too little room left. */
export type SpareCapacity = { most: number; fullEnvironments: number[]; fullDestinations: number[] }
/** What a sweep may claim in place of ringing, by kind; how long a claim holds, and a ring; for how many of a kind a ring stands at most. */
export type SweepOffer = {
  capacity: ReadonlyMap<string, SpareCapacity>
  leaseMs: number
  batchMs: number
  batchSizes: ReadonlyMap<string, number>
}
export type Swept = { batches: (Batch & { kind: string })[]; claimed: ClaimedJob[] }

/** So many of one environment may be the beginning of a backlog: a sweep claims none of them. */
export const BACKLOG = 20

/** How long a ring may be taken: what lost ones stand for is rung again after that. */
export const BATCH_LEASE_MS = 10_000
/** Promises in one ring: enough to make the queue's cost per run small, few enough to spread over the workers. */
export const BATCH_SIZE = 200
const NONE: SweepOffer = { capacity: new Map(), leaseMs: 0, batchMs: BATCH_LEASE_MS, batchSizes: new Map() }

// The distinct (kind, priority, environment, destination) of the table, by one index probe each; destination 0 = none.
export const GROUPS = `groups(kind, priority, environment, destination) as (
  (select kind, priority, environment, coalesce(destination, 0) from due
    order by kind, priority, environment, coalesce(destination, 0) limit 1)
  union all
  select n.* from groups g cross join lateral (
    select kind, priority, environment, coalesce(destination, 0) from due
    where (kind, priority, environment, coalesce(destination, 0)) > (g.kind, g.priority, g.environment, g.destination)
    order by kind, priority, environment, coalesce(destination, 0) limit 1) n
)`
/** The same of one environment, $1. */
export const GROUPS_OF_ENVIRONMENT = `kinds(kind, priority) as (
  (select kind, priority from due order by kind, priority limit 1)
  union all
  select n.* from kinds k cross join lateral (
    select kind, priority from due where (kind, priority) > (k.kind, k.priority) order by kind, priority limit 1) n
), groups(kind, priority, environment, destination) as (
  select f.* from kinds k cross join lateral (
    select kind, priority, environment, coalesce(destination, 0) from due
    where kind = k.kind and priority = k.priority and environment = $1 order by coalesce(destination, 0) limit 1) f
  union all
  select n.* from groups g cross join lateral (
    select kind, priority, environment, coalesce(destination, 0) from due
    where kind = g.kind and priority = g.priority and environment = g.environment and coalesce(destination, 0) > g.destination
    order by coalesce(destination, 0) limit 1) n
)`
/** All there are, named so that the index finds an environment's promises of one kind. */
export const PRIORITIES = '(0, 1)'
/** The clock of a group `g`: looked up, whatever the planner thinks of how many environments there are. */
export const CLOCK_OF_GROUP = 'cross join lateral (select clock_offset from environments where id = g.environment limit 1) e'
/** The promises of one group `g`, in the order of the index. */
export const OF_GROUP =
  'kind = g.kind and priority = g.priority and environment = g.environment and coalesce(destination, 0) = g.destination'

/** However many environments and destinations have work, so many promises of each are rung at a time. */
const SMALLEST_SHARE = 20

// Per group only the first `share` promises that are due and free are looked at, less what is out in rings, so what is rung stays a short
// window and the backlog stays here. No environment has more than half of it, and its destinations share what it has, so that
// one with a backlog does not stand in the way of the others; rn interleaves environments, and destinations within: round robin.
// What is not due yet is not read: the time of the statement is one that an index can be asked for.
// What makes a row free is asked of the locked row, and what is locked is passed over.
// What is rung is held for whoever takes the ring, its fence raised as by a claim: so taking it needs not touch the promises again.
// What is a handful of its environment is claimed here and now, which spares it the way through the queue: behind somebody's backlog above
// all.
// One sweep at a time (the gate): a second one would wait for what the first one rings. The gate is the statement's: a process that
// stands still afterwards holds up nobody.
const TAKE = `
with recursive gate as materialized (
  select pg_try_advisory_xact_lock(${LOCK.sweep}, 0) as is_ours
), ${GROUPS}, places as (
  select *, row_number() over () as no, dense_rank() over (order by kind, priority, environment) as tenant,
    count(*) over (partition by kind, priority, environment) as destinations,
    (row_number() over (partition by kind, priority, environment order by destination) = 1)::int as is_first
  from groups where (select is_ours from gate)
), counted as (
  select *, sum(is_first) over (partition by kind, priority) as environments from places
), outstanding as materialized (
  select r.kind, r.priority, u.environment, u.destination, count(*)::int as count
  from batches r cross join unnest(r.environments, r.destinations) u(environment, destination)
  where r.until > clock_timestamp() and (select is_ours from gate) group by r.kind, r.priority, u.environment, u.destination
), shares as materialized (
  select g.*, e.clock_offset, greatest(0, least($1 / 2, greatest(${SMALLEST_SHARE},
    least($1 / 2, greatest(${SMALLEST_SHARE}, $1 / g.environments)) / g.destinations)) - coalesce(o.count, 0))::int as share
  from counted g ${CLOCK_OF_GROUP}
    left join outstanding o on o.kind = g.kind and o.priority = g.priority and o.environment = g.environment and o.destination = g.destination
), looked as materialized (
  select g.no, g.kind, g.priority, g.tenant, g.destination, d.*
  from shares g cross join lateral (
    select l.*, row_number() over () as place from (
      select ctid as at, id from due
      where ${OF_GROUP} and due_at <= statement_timestamp() + g.clock_offset and (lease_until is null or lease_until < clock_timestamp())
      order by due_at, id limit g.share for no key update skip locked) l) d
), open as (
  select *, row_number() over (partition by tenant order by place, destination) as rn from looked
), first as materialized (
  select no, kind, priority, at, rn from open order by priority, rn, id limit $1
), able as materialized (
  select g.no, g.kind, g.environment, r.most, f.count
  from (select no, count(*) as count from first group by no) f join shares g on g.no = f.no
    join unnest($2::text[], $3::int[]) r(kind, most) on r.kind = g.kind
  where not exists (select from unnest($4::text[], $5::int[]) x(kind, environment) where x.kind = g.kind and x.environment = g.environment)
    and not exists (select from unnest($6::text[], $7::int[]) x(kind, destination) where x.kind = g.kind and x.destination = g.destination)
), few as (
  select kind, environment, most, sum(sum(count)) over (partition by kind order by sum(count), environment) as so_far
  from able group by kind, environment, most having sum(count) < ${BACKLOG}
), mine as materialized (
  select a.no from able a join few f on f.kind = a.kind and f.environment = a.environment where f.so_far <= f.most
), claimed as (
  update due set lease_until = clock_timestamp() + make_interval(secs => $8::float8 / 1000), fence = fence + 1, batched_until = null
  where ctid = any (array(select at from first where no in (select no from mine)))
  returning kind, id, fence, environment, destination
), held as materialized (
  select clock_timestamp() + make_interval(secs => $9::float8 / 1000) as until from (select count(*) from first) looked_first
), rung as (
  update due d set lease_until = h.until, batched_until = h.until, fence = fence + 1
  from first f cross join held h where d.ctid = f.at and f.no not in (select no from mine)
  returning d.kind, d.priority, f.rn, d.id, d.fence, d.environment, coalesce(d.destination, 0) as destination
), placed as (
  select kind, priority, array_agg(id order by rn, id) as ids, array_agg(fence order by rn, id) as fences,
    array_agg(environment order by rn, id) as environments, array_agg(destination order by rn, id) as destinations
  from rung group by kind, priority
), made as (
  insert into batches (kind, priority, until, ids, fences, environments, destinations)
  select p.kind, p.priority, h.until,
    ids[i : i + size - 1], fences[i : i + size - 1], environments[i : i + size - 1], destinations[i : i + size - 1]
  from (select p.*, coalesce(s.size, ${BATCH_SIZE}) as size
      from placed p left join unnest($10::text[], $11::int[]) s(kind, size) on s.kind = p.kind) p
    cross join held h cross join lateral generate_series(1, cardinality(p.ids), p.size) i
  order by p.priority, i returning number, kind, cardinality(ids) as count
), lapsed as (
  delete from batches where until < clock_timestamp() and (select is_ours from gate)
)
select is_ours, t.* from gate left join (
  select kind, number, count, null::bigint as id, null::int as fence, null::int as environment, null::int as destination from made
  union all select kind, null, null, id, fence, environment, destination from claimed) t on true order by t.number`

type Row = { is_ours: boolean } & ({ kind: null } | { kind: string; number: number; count: number } | ({ number: null } & ClaimedJob))

/** One row for each of a kind's numbers. */
function perKind(room: SweepOffer['capacity'], numbersOf: (room: SpareCapacity) => number[]): [string[], number[]] {
  const pairs = [...room].flatMap(([kind, one]) => numbersOf(one).map(number => [kind, number] as const))
  return [pairs.map(([kind]) => kind), pairs.map(([, number]) => number)]
}

/**
 * Makes rings of up to `window` due promises and returns them, the most urgent first: no environment gets more than half of the window.
 * What is a handful of its environment is claimed instead, as far as there is room. Null: somebody else is at it just now.
 */
export async function dispatchDue(
  db: Db,
  window: number,
  { capacity: room, leaseMs, batchMs: ringMs, batchSizes: ringSizes }: SweepOffer = NONE,
): Promise<Swept | null> {
  const { rows } = await db.query<Row>({
    name: 'take-rings',
    text: TAKE,
    values: [
      window,
      ...perKind(room, ({ most }) => [most]),
      ...perKind(room, ({ fullEnvironments }) => fullEnvironments),
      ...perKind(room, ({ fullDestinations }) => fullDestinations),
      leaseMs,
      ringMs,
      [...ringSizes.keys()],
      [...ringSizes.values()],
    ],
  })
  if (!rows[0]?.is_ours) return null
  const swept: Swept = { batches: [], claimed: [] }
  for (const row of rows) {
    if (row.kind === null) continue
    if (row.number !== null) swept.batches.push({ kind: row.kind, number: row.number, count: row.count })
    else swept.claimed.push({ kind: row.kind, id: row.id, fence: row.fence, environment: row.environment, destination: row.destination })
  }
  return swept
}

/** Milliseconds until the next promise falls due; null when none does. */
export async function nextDue(db: Db): Promise<number | null> {
  const { rows } = await db.query<{ ms: number | null }>({
    name: 'next-due',
    text: `with recursive ${GROUPS}
           select (min(extract(epoch from d.due_at - e.clock_offset - clock_timestamp())) * 1000)::float8 as ms
           from groups g ${CLOCK_OF_GROUP} cross join lateral (
             select due_at from due where ${OF_GROUP} and due_at > statement_timestamp() + e.clock_offset
             order by due_at limit 1) d`,
  })
  return rows[0]?.ms ?? null
}
