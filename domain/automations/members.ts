import type { Db } from '../../store/connect.ts'
import type { Condition } from '../audience/segments/condition.ts'
import { segmentIdsIn } from '../audience/segments/condition.ts'
import { loadSegments } from '../audience/segments/segment.ts'
import type { Environment } from '../kernel/environment.ts'

/** The users, of those given, for whom all conditions are true now. */
export async function usersMeeting(
  db: Db,
  environment: Environment,
  conditions: readonly Condition[],
  users: readonly string[],
): Promise<Set<string>> {
  if (users.length === 0) return new Set()
  const segments = await loadSegments(db, environment, segmentIdsIn(conditions))
  // Kysely is loaded only when there are conditions to check: it is a quarter of all modules.
  const { membersSql } = await import('../audience/segments/sql.ts')
  const { sql, parameters } = membersSql(environment, conditions, segments, { first: 3, isAboutFew: true })
  const { rows } = await db.query<{ id: string }>(
    `select u.id from unnest($2::text[]) k(id) cross join lateral (
       select * from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1) u where ${sql}`,
    [environment, users, ...parameters],
  )
  return new Set(rows.map(({ id }) => id))
}

/** The users, of those given, who are in the segment now, a system segment or another. A segment that does not exist has no members. */
export const membersOf = (db: Db, environment: Environment, segment: string, users: readonly string[]): Promise<Set<string>> =>
  usersMeeting(db, environment, [{ metric: 'segment', comparator: 'eq', value: segment, negate: false }], users)
