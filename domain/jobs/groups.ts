// A group: the jobs of one kind, priority, environment and destination. Destination 0 stands for none.

// The distinct groups of the table, by one index probe for each group.
export const GROUPS = `groups(kind, priority, environment, destination) as (
  (select kind, priority, environment, coalesce(destination, 0) from due
    order by kind, priority, environment, coalesce(destination, 0) limit 1)
  union all
  select n.* from groups g cross join lateral (
    select kind, priority, environment, coalesce(destination, 0) from due
    where (kind, priority, environment, coalesce(destination, 0)) > (g.kind, g.priority, g.environment, g.destination)
    order by kind, priority, environment, coalesce(destination, 0) limit 1) n
)`
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
