import { LOCK } from '../../../store/advisory-locks.ts'
import { CLOCK_OF_GROUP, CLOCK_TURNS, groupsAbove, OF_GROUP } from './groups.ts'
import { dueMs } from './job.ts'
import { LIVE_WORKERS } from './workers.ts'

/** An environment with that many due jobs of a kind may be the beginning of a backlog: a sweep claims none of its jobs. */
export const BACKLOG = 20
/** Jobs of one batch: enough to make the cost of the queue for each run small, few enough to spread over the workers. */
export const BATCH_SIZE = 200
/** However many environments and destinations have work, so many jobs of each may be dispatched at a time. */
const SMALLEST_SHARE = 20
/** Of a kind with a small window the share is smaller: one job for so many jobs of the window. */
const WINDOW_PER_SMALLEST = 300

// The parameters of the statement.
const WINDOW = '$1'
const CAPACITY = 'unnest($2::text[], $3::int[])'
const FULL_ENVIRONMENTS = 'unnest($4::text[], $5::int[])'
const FULL_DESTINATIONS = 'unnest($6::text[], $7::int[])'
const LEASE = 'make_interval(secs => $8::float8 / 1000)'
const BATCH_LEASE = 'make_interval(secs => $9::float8 / 1000)'
const LIMITS = 'unnest($10::text[], $11::int[], $12::int[])'
// The kinds that the caller executes: what it does not know it leaves to a worker that does.
const KINDS = 'any ($13::text[])'
// Whether jobs are claimed whose leases have run out.
const RECLAIMS = '$14::boolean'
const FIRST_OF_FLOORS = 15

// One sweep at a time: a second sweep would wait for the rows that the first sweep dispatches. The lock ends with the statement: a process
// that freezes after the statement holds up no other sweep.
const GATE = `gate as materialized (
  select pg_try_advisory_xact_lock(${LOCK.sweep}, 0) as is_ours
)`
const GATE_IS_OURS = '(select is_ours from gate)'

// The groups that have jobs, each with a number. A tenant is an environment within a kind and priority; `destinations`: how many a tenant
// has; `environments`: how many a kind and priority has.
const COUNTED_GROUPS = `numbered_groups as (
  select *, row_number() over () as no, dense_rank() over (order by kind, priority, environment) as tenant,
    count(*) over (partition by kind, priority, environment) as destinations,
    (row_number() over (partition by kind, priority, environment order by destination) = 1)::int as is_first
  from groups where kind = ${KINDS} and ${GATE_IS_OURS}
), counted_groups as (
  select *, sum(is_first) over (partition by kind, priority) as environments from numbered_groups
)`

// How many jobs of each group are in batches that no worker has taken.
const OUTSTANDING = `outstanding as materialized (
  select b.kind, b.priority, u.environment, u.destination, count(*)::int as count
  from batches b cross join unnest(b.environments, b.destinations) u(environment, destination)
  where b.until > clock_timestamp() and ${GATE_IS_OURS} group by b.kind, b.priority, u.environment, u.destination
)`

// The window of each kind with limits. What its workers cannot take while the lease of a batch lasts would be dispatched in vain.
const WINDOWS = `windows as materialized (
  select l.kind, l.size, m.jobs, greatest(1, least(${SMALLEST_SHARE}, m.jobs / ${WINDOW_PER_SMALLEST})) as smallest
  from ${LIMITS} l(kind, size, per_worker) left join (
    select k.kind, count(*) as count from (${LIVE_WORKERS}) w cross join lateral unnest(w.kinds) k(kind) group by k.kind) w on w.kind = l.kind
    cross join lateral (select least(${WINDOW}, l.per_worker * greatest(1, coalesce(w.count, 0)))::int as jobs) m
)`

// How many jobs of each group may be dispatched now. What is outstanding counts, so the dispatched jobs stay a short window and the backlog
// stays in the table. No environment has more than half of the window. The destinations of an environment share its part, so a destination
// with a backlog does not hold up the others. Of an environment whose clock is advanced only the job may be dispatched whose turn it is.
const SHARES = `turns as materialized (
  ${CLOCK_TURNS}
), shares as materialized (
  select g.*, e.clock_offset, t.id as turn_of, s.window_of_kind,
    case when t.environment is not null and t.kind is distinct from g.kind then 0 else greatest(0, least(s.most, greatest(s.smallest,
      least(s.most, greatest(s.smallest, s.window_of_kind / g.environments)) / g.destinations)) - coalesce(o.count, 0)) end::int as share
  from counted_groups g ${CLOCK_OF_GROUP}
    left join windows w on w.kind = g.kind
    cross join lateral (select coalesce(w.jobs, ${WINDOW}) as window_of_kind, greatest(1, coalesce(w.jobs, ${WINDOW}) / 2) as most,
      coalesce(w.smallest, ${SMALLEST_SHARE}) as smallest) s
    left join outstanding o on o.kind = g.kind and o.priority = g.priority and o.environment = g.environment and o.destination = g.destination
    left join turns t on t.environment = g.environment
)`

// The first jobs of each group that are due and free, up to its share, locked. Only these rows are read, and no row that is not due yet: an
// index can be searched for the time of the statement. The condition for free is checked on the locked row; a row that another transaction
// has locked is skipped.
const FREE_JOBS = `free_jobs as materialized (
  select g.no, g.kind, g.priority, g.tenant, g.destination, g.environments, g.window_of_kind, d.*
  from shares g cross join lateral (
    select l.*, row_number() over () as nth from (
      select ctid as at, id, lease_until is not null as has_expired from due
      where ${OF_GROUP} and due_at >= g.low and due_at <= statement_timestamp() + g.clock_offset
        and (g.turn_of is null or id = g.turn_of) and (lease_until is null or ${RECLAIMS} and lease_until < clock_timestamp())
      order by due_at, id limit g.share for no key update skip locked) l) d
)`

// The jobs of this window. Round robin by `turn`: it interleaves the environments, and the destinations of each environment. However small the
// window of a kind is, each environment has a job in it: none waits for the whole backlog of others.
const CHOSEN = `in_turn as (
  select *, row_number() over (partition by tenant order by nth, destination) as turn from free_jobs
), in_order as (
  select *, row_number() over (partition by kind order by priority, turn, id) as place from in_turn
), chosen as materialized (
  select no, kind, priority, at, turn, has_expired from in_order where place <= greatest(window_of_kind, environments) order by priority, turn, id limit ${WINDOW}
)`

// The groups whose jobs the caller claims at once, which spares the jobs the queue and, above all, the backlog of another tenant in it: where
// the caller has capacity for the environment and the destination, and the environment has few chosen jobs of the kind. The environments with
// the fewest jobs come first, until the capacity is used.
const GROUPS_TO_CLAIM = `groups_with_capacity as materialized (
  select g.no, g.kind, g.environment, r.most, f.count
  from (select no, count(*) as count from chosen group by no) f join shares g on g.no = f.no
    join ${CAPACITY} r(kind, most) on r.kind = g.kind
  where not exists (select from ${FULL_ENVIRONMENTS} x(kind, environment) where x.kind = g.kind and x.environment = g.environment)
    and not exists (select from ${FULL_DESTINATIONS} x(kind, destination) where x.kind = g.kind and x.destination = g.destination)
), small_environments as (
  select kind, environment, most, sum(sum(count)) over (partition by kind order by sum(count), environment) as so_far
  from groups_with_capacity group by kind, environment, most having sum(count) < ${BACKLOG}
), groups_to_claim as materialized (
  select g.no from groups_with_capacity g join small_environments s on s.kind = g.kind and s.environment = g.environment where s.so_far <= s.most
)`

// The jobs of batches that no worker has taken, and those that the worker which took them has not begun. Read only where a lease has run
// out.
const UNBEGUN = `unbegun as materialized (
  select b.kind, u.id, u.fence from batches b cross join unnest(b.ids, b.fences) u(id, fence)
  where b.until < clock_timestamp() and exists (select from chosen where has_expired)
)`

// The former claim has lapsed (`lapse.ts`). It began when its lease began, unless it was renewed: the time is that of the last sign of life.
const LAPSED_AT = `case when d.lease_until is null or (d.kind, d.id, d.fence) in (select kind, id, fence from unbegun) then d.lapsed_at
    else coalesce(d.lapsed_at, d.batched_until - ${BATCH_LEASE}, d.lease_until - ${LEASE}) end`

const CLAIMED = `claimed as (
  update due d set lease_until = clock_timestamp() + ${LEASE}, fence = fence + 1, batched_until = null, lapsed_at = ${LAPSED_AT}
  where ctid = any (array(select at from chosen where no in (select no from groups_to_claim)))
  returning kind, id, fence, environment, destination, lapsed_at,
    (select ${dueMs('d.due_at', 'clock_offset')} from environments where id = d.environment) as due_ms
)`

// All other chosen jobs are leased for the worker that takes their batch, with the fence raised as by a claim: so taking the batch does not
// write the jobs again. The end of the lease counts from the time at which all rows are locked; the count makes the clock wait for them.
const DISPATCHED = `batch_lease as materialized (
  select clock_timestamp() + ${BATCH_LEASE} as until from (select count(*) from chosen) all_are_locked
), dispatched as (
  update due d set lease_until = l.until, batched_until = l.until, fence = fence + 1, lapsed_at = ${LAPSED_AT}
  from chosen c cross join batch_lease l where d.ctid = c.at and c.no not in (select no from groups_to_claim)
  returning d.kind, d.priority, c.turn, d.id, d.fence, d.environment, coalesce(d.destination, 0) as destination
)`

// The dispatched jobs of each kind and priority, cut into batches; the most urgent batches get the lowest numbers.
const NEW_BATCHES = `dispatched_of_kind as (
  select kind, priority, array_agg(id order by turn, id) as ids, array_agg(fence order by turn, id) as fences,
    array_agg(environment order by turn, id) as environments, array_agg(destination order by turn, id) as destinations
  from dispatched group by kind, priority
), new_batches as (
  insert into batches (kind, priority, until, ids, fences, environments, destinations)
  select k.kind, k.priority, l.until,
    ids[i : i + size - 1], fences[i : i + size - 1], environments[i : i + size - 1], destinations[i : i + size - 1]
  from (select k.*, coalesce(w.size, ${BATCH_SIZE}) as size from dispatched_of_kind k left join windows w on w.kind = k.kind) k
    cross join batch_lease l cross join lateral generate_series(1, cardinality(k.ids), k.size) i
  order by k.priority, i returning number, kind, cardinality(ids) as count
)`

// A batch is kept as long as one of its jobs has the same lease: the jobs of the batch were not begun.
const EXPIRED_BATCHES = `expired_batches as (
  delete from batches b where until < clock_timestamp() and ${GATE_IS_OURS} and not exists (
    select from unnest(b.ids, b.fences) u(id, fence) cross join lateral (
      select from due where kind = b.kind and id = u.id and fence = u.fence and lease_until is not null limit 1) d)
)`

const RESULT = `select is_ours, t.* from gate left join (
  select kind, number, count, null::bigint as id, null::int as fence, null::int as environment, null::int as destination,
    null::boolean as has_lapsed, null::float8 as due_ms from new_batches
  union all select kind, null, null, id, fence, environment, destination, lapsed_at is not null, due_ms from claimed) t on true order by t.number`

/** The statement of a sweep. Its parts stand in the order in which one reads the other. */
export const DISPATCH_DUE = `with recursive ${[
  GATE,
  groupsAbove(FIRST_OF_FLOORS),
  COUNTED_GROUPS,
  OUTSTANDING,
  WINDOWS,
  SHARES,
  FREE_JOBS,
  CHOSEN,
  UNBEGUN,
  GROUPS_TO_CLAIM,
  CLAIMED,
  DISPATCHED,
  NEW_BATCHES,
  EXPIRED_BATCHES,
].join(', ')}
${RESULT}`
