// A group: the jobs of one kind, priority, environment and destination. Destination 0 stands for none.

/** The server's clock counts as set back when it is so far behind the time that has passed. */
const CLOCK_TOLERANCE_MS = 2_000
const KEY = '(kind, priority, environment, coalesce(destination, 0))'
const KEY_COLUMNS = 'kind, priority, environment, coalesce(destination, 0)'
const NEXT = '(n_kind, n_priority, n_environment, n_destination)'

/** In SQL: the first group of the table after the group `g` and before the next known group, if there is one. */
const firstAfter = (g: string): string => `
    (select ${KEY_COLUMNS} from due
      where n_kind is not null and ${KEY} > (${g}.kind, ${g}.priority, ${g}.environment, ${g}.destination) and ${KEY} < ${NEXT}
      order by ${KEY_COLUMNS} limit 1)
    union all
    (select ${KEY_COLUMNS} from due
      where n_kind is null and ${KEY} > (${g}.kind, ${g}.priority, ${g}.environment, ${g}.destination)
      order by ${KEY_COLUMNS} limit 1)`

/**
 * The groups of the table, each with the floor below which it has no job (`low`): the known groups, and by index probes the groups between
 * them, whose floor is not known. `at`: the number of the first of the parameters (`floorValues`). The entries of jobs that have ended stay
 * in the index while any transaction may still see the jobs (a backup of half an hour): what is read from the beginning of a group would
 * visit all of them. `groups` has only groups with jobs, `all_groups` the known ones without jobs, too.
 */
export function groupsAbove(at: number): string {
  const [kinds, priorities, environments, destinations, lows, asOf, elapsed] = Array.from({ length: 7 }, (_, i) => `$${at + i}`)
  return `known as materialized (
    select u.* from (
      select case when clock_timestamp() > ${asOf}::timestamptz + make_interval(secs => (${elapsed}::float8 - ${CLOCK_TOLERANCE_MS}) / 1000)
        then cardinality(${kinds}::text[]) else 1 end as most) m
    cross join lateral unnest(${kinds}[1:most], ${priorities}::smallint[], ${environments}::int[], ${destinations}::int[], ${lows}::timestamptz[],
      ${kinds}[2:most], ${priorities}[2:], ${environments}[2:], ${destinations}[2:])
      u(kind, priority, environment, destination, low, n_kind, n_priority, n_environment, n_destination)
    where u.kind is not null
  ), found(kind, priority, environment, destination, n_kind, n_priority, n_environment, n_destination) as (
    select f.*, n_kind, n_priority, n_environment, n_destination from known k cross join lateral (${firstAfter('k')}) f
    union all
    select f.*, n_kind, n_priority, n_environment, n_destination from found k cross join lateral (${firstAfter('k')}) f
  ), all_groups as (
    select kind, priority, environment, destination, low from known where kind <> ''
    union all
    select kind, priority, environment, destination, '-infinity' from found
  ), groups as materialized (
    select g.kind, g.priority, g.environment, g.destination, g.low from known g
    cross join lateral (select 1 from due where ${OF_GROUP} and due_at >= g.low order by due_at limit 1) j where g.kind <> ''
    union all
    select kind, priority, environment, destination, '-infinity' from found
  )`
}
/** The same for one environment, $1. */
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
/** All priorities. A statement names them so that the index finds the jobs of one kind of an environment. */
export const PRIORITIES = '(0, 1)'
/** The clock of a group `g`. A lateral query with `limit 1` makes the planner look it up, however many environments the planner expects. */
export const CLOCK_OF_GROUP = 'cross join lateral (select clock_offset from environments where id = g.environment limit 1) e'
/** Condition: the job is of group `g`. In the order of the index. */
export const OF_GROUP =
  'kind = g.kind and priority = g.priority and environment = g.environment and coalesce(destination, 0) = g.destination'

/** In SQL: the environments whose jobs take turns at present. */
export const CLOCK_TURNS = 'select environment, kind, id from clock_turns where until > clock_timestamp()'

/** In SQL: whether jobs of the environment may be claimed at any time, without a turn. */
export const hasNoTurns = (environment: string): string =>
  `not exists (select 1 from clock_turns t where t.environment = ${environment} and t.until > clock_timestamp())`
