import { LOCK } from '../../store/advisory-locks.ts'
import type { Db } from '../../store/connect.ts'
import type { Claimed } from './claimed.ts'

/** Runs to be announced to the workers. */
export type Ring = { kind: string; id: number }

/** What a sweep may claim of a kind: so many, none of them of those that have too little room left. */
export type Room = { most: number; fullEnvironments: number[]; fullDestinations: number[] }
/** What a sweep may claim in place of ringing, by kind. */
export type Handful = { room: ReadonlyMap<string, Room>; leaseMs: number }
export type Swept = { rings: Ring[]; claimed: Claimed[] }

/** So many of one environment may be the beginning of a backlog: a sweep claims none of them. */
export const BACKLOG = 20
const NONE: Handful = { room: new Map(), leaseMs: 0 }

/** How long a ring counts as out: lost ones come again after that. */
export const RING_SECONDS = 10

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

/** However many environments and destinations have work, each gets this many rings at a time. */
const SMALLEST_SHARE = 20

// Per group only the first `share` promises that are due and free are looked at, those rung already among them, so the window of
// outstanding rings stays short and the backlog stays here. No environment has more than half of it, and its destinations share what it
// has, so that one with a backlog does not stand in the way of the others; rn interleaves environments, and destinations within: round
// robin.
// What is not due yet is not read: the time of the statement is one that an index can be asked for.
// What makes a row free is asked of the locked row once more: somebody may have claimed it.
// What is a handful of its environment is claimed here and now, which spares it the way through the queue and a claim of its own: behind
// somebody's backlog above all.
// One sweep at a time (the gate): a second one would lock what the first has rung, if only to see that, and whoever claims passes over
// what is locked: the ring would be lost. The gate is the statement's: a process that stands still afterwards holds up nobody.
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
), shares as materialized (
  select g.*, e.clock_offset,
    least($1 / 2, greatest(${SMALLEST_SHARE}, least($1 / 2, greatest(${SMALLEST_SHARE}, $1 / g.environments)) / g.destinations))::int as share
  from counted g ${CLOCK_OF_GROUP}
), looked as (
  select d.at, d.id, g.priority, g.tenant, g.destination, g.clock_offset, row_number() over (partition by g.no order by d.due_at, d.id) as place
  from shares g cross join lateral (
    select ctid as at, id, due_at, ring_until from due
    where ${OF_GROUP} and due_at <= statement_timestamp() + g.clock_offset and (lease_until is null or lease_until < clock_timestamp())
    order by due_at, id limit g.share) d
  where d.ring_until is null or d.ring_until < clock_timestamp()
), open as (
  select at, id, priority, clock_offset, row_number() over (partition by tenant order by place, destination) as rn from looked
), first as materialized (
  select at, priority, clock_offset, rn from open order by priority, rn, id limit $1
), chosen as materialized (
  select d.*, f.priority, f.rn from first f cross join lateral (
    select ctid as at, kind, id, environment, destination from due
    where ctid = f.at and (ring_until is null or ring_until < clock_timestamp()) and (lease_until is null or lease_until < clock_timestamp())
      and due_at <= statement_timestamp() + f.clock_offset
    limit 1 for no key update skip locked) d
), able as materialized (
  select c.*, r.most from chosen c left join unnest($2::text[], $3::int[]) r(kind, most) on r.kind = c.kind
    and not exists (select from unnest($4::text[], $5::int[]) f(kind, environment) where f.kind = c.kind and f.environment = c.environment)
    and not exists (select from unnest($6::text[], $7::int[]) f(kind, destination) where f.kind = c.kind and f.destination = c.destination)
), few as (
  select kind, environment, most, sum(count(*)) over (partition by kind order by count(*), environment) as so_far
  from able where most is not null group by kind, environment, most having count(*) < ${BACKLOG}
), marked as materialized (
  select a.at, f.kind is not null as is_ours
  from able a left join few f on a.most is not null and f.kind = a.kind and f.environment = a.environment and f.so_far <= f.most
), claimed as (
  update due set lease_until = clock_timestamp() + make_interval(secs => $8::float8 / 1000), fence = fence + 1, ring_until = null
  where ctid = any (array(select at from marked where is_ours))
  returning kind, id, fence, environment, destination
), rung as (
  update due set ring_until = clock_timestamp() + interval '${RING_SECONDS} seconds'
  where ctid = any (array(select at from marked where not is_ours))
)
select is_ours, c.kind, c.id, k.fence, k.environment, k.destination
from gate left join chosen c on true left join claimed k on k.kind = c.kind and k.id = c.id order by c.priority, c.rn, c.id`

type Row = { is_ours: boolean; kind: string | null; id: number } & (Claimed | { fence: null })

/** One row for each of a kind's numbers. */
function perKind(room: Handful['room'], numbersOf: (room: Room) => number[]): [string[], number[]] {
  const pairs = [...room].flatMap(([kind, one]) => numbersOf(one).map(number => [kind, number] as const))
  return [pairs.map(([kind]) => kind), pairs.map(([, number]) => number)]
}

/**
 * Marks up to `window` due promises as rung and returns them, the most urgent first: no environment gets more than half of the window.
 * What is a handful of its environment is claimed instead, as far as there is room. Null: somebody else is at it just now.
 */
export async function takeRings(db: Db, window: number, { room, leaseMs }: Handful = NONE): Promise<Swept | null> {
  const { rows } = await db.query<Row>({
    name: 'take-rings',
    text: TAKE,
    values: [
      window,
      ...perKind(room, ({ most }) => [most]),
      ...perKind(room, ({ fullEnvironments }) => fullEnvironments),
      ...perKind(room, ({ fullDestinations }) => fullDestinations),
      leaseMs,
    ],
  })
  if (!rows[0]?.is_ours) return null
  const swept: Swept = { rings: [], claimed: [] }
  for (const row of rows) {
    if (row.kind === null) continue
    if (row.fence === null) swept.rings.push({ kind: row.kind, id: row.id })
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
