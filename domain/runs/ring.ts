import type { Db } from '../../store/connect.ts'

/** Runs to be announced to the workers. */
export type Ring = { kind: string; id: number }

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
/** The promises of one group `g`, in the order of the index. */
export const OF_GROUP =
  'kind = g.kind and priority = g.priority and environment = g.environment and coalesce(destination, 0) = g.destination'

/** However many environments and destinations have work, each gets this many rings at a time. */
const SMALLEST_SHARE = 20

// Per group only the first `share` promises that are due and free are looked at: those rung already count, so the window of outstanding
// rings stays short and the backlog stays here. No environment has more than half of it, and its destinations share what it has, so
// that one with a backlog does not stand in the way of the others; rn interleaves environments, and destinations within: round robin.
// Of those rung already only the place counts; what makes a row free is asked of the locked row once more: another sweep may have rung it.
const TAKE = `
with recursive ${GROUPS}, kinds as (
  select kind, priority, count(distinct environment) as environments from groups group by kind, priority
), places as (
  select kind, priority, environment, count(*) as destinations from groups group by kind, priority, environment
), shares as (
  select g.*, e.clock_offset,
    least($1 / 2, greatest(${SMALLEST_SHARE}, least($1 / 2, greatest(${SMALLEST_SHARE}, $1 / k.environments)) / p.destinations))::int as share
  from groups g join kinds k using (kind, priority) join places p using (kind, priority, environment) join environments e on e.id = g.environment
), looked as (
  select d.*, g.priority, g.environment, g.destination,
    row_number() over (partition by g.kind, g.priority, g.environment, g.destination order by d.due_at, d.id) as place
  from shares g cross join lateral (
    select kind, id, due_at, ring_until from due
    where ${OF_GROUP} and due_at <= clock_timestamp() + g.clock_offset and (lease_until is null or lease_until < clock_timestamp())
    order by due_at, id limit g.share) d
), open as materialized (
  select kind, id, ring_until, priority,
    row_number() over (partition by kind, priority, environment order by place, destination) as rn
  from looked
), chosen as materialized (
  select d.kind, d.id, o.priority, o.rn from due d join open o on o.kind = d.kind and o.id = d.id
  where (o.ring_until is null or o.ring_until < clock_timestamp())
    and (d.ring_until is null or d.ring_until < clock_timestamp()) and (d.lease_until is null or d.lease_until < clock_timestamp())
  order by o.priority, o.rn, d.id limit $1 for no key update of d skip locked
), rung as (
  update due d set ring_until = clock_timestamp() + interval '${RING_SECONDS} seconds' from chosen c where d.kind = c.kind and d.id = c.id
  returning d.kind, d.id, c.priority, c.rn
)
select kind, id from rung order by priority, rn, id`

/** Marks up to `window` due promises as rung and returns them, the most urgent first: no environment gets more than half of the window. */
export async function takeRings(db: Db, window: number): Promise<Ring[]> {
  const { rows } = await db.query<Ring>({ name: 'take-rings', text: TAKE, values: [window] })
  return rows
}

/** Milliseconds until the next promise falls due; null when none does. */
export async function nextDue(db: Db): Promise<number | null> {
  const { rows } = await db.query<{ ms: number | null }>({
    name: 'next-due',
    text: `with recursive ${GROUPS}
           select (min(extract(epoch from d.due_at - e.clock_offset - clock_timestamp())) * 1000)::float8 as ms
           from groups g join environments e on e.id = g.environment cross join lateral (
             select due_at from due where ${OF_GROUP} and due_at > clock_timestamp() + e.clock_offset
             order by due_at limit 1) d`,
  })
  return rows[0]?.ms ?? null
}
