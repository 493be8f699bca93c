import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'

// A customer begins (`created_at`) when the service first sees the customer, or at the beginning of the history that was recorded before
// that. Otherwise all imported customers would begin on the day of the import. Once a user was seen live the beginning stays: past figures
// must not change because a forgotten event is recorded later.

/**
 * `created_at` in µs; null: as it was stored. `is_seen_live` null: the user was recorded before the service stored whether users were seen
 * live. Such a user counts as seen, until `users recompute-created` has found out.
 */
export type Beginning = { created_at: number | null; is_seen_live: boolean | null }

/** Moves the beginning back to a time of the history (µs); true when it moved. */
export function moveBeginning(user: Beginning, at: number): boolean {
  if (user.is_seen_live !== false || user.created_at === null || at >= user.created_at) return false
  user.created_at = at
  return true
}

/** In SQL, for an update of users who are seen live. */
export const SHOWN = 'case when is_seen_live is false then true else is_seen_live end'

/** Of `update users u`: the new values after a time of the history (null: none), and whether the user was seen live after that. */
export function newBeginning(at: string, isSeenLive: string): Record<'created_at' | 'recorded_at' | 'is_seen_live', string> {
  const moves = `u.is_seen_live is false and ${at} < u.created_at`
  return {
    created_at: `case when ${moves} then ${at} else u.created_at end`,
    recorded_at: `case when ${moves} then coalesce(u.recorded_at, u.created_at) else u.recorded_at end`,
    is_seen_live: `case when ${isSeenLive} and u.is_seen_live is false then true else u.is_seen_live end`,
  }
}

const NEW = newBeginning('b.at', 'b.is_seen_live')
const BEGIN = `
update users u set created_at = ${NEW.created_at}, recorded_at = ${NEW.recorded_at}, is_seen_live = ${NEW.is_seen_live}
from (
  select t.row_id, k.at, k.is_seen_live from unnest($2::text[], $3::timestamptz[], $4::boolean[]) k(id, at, is_seen_live)
  cross join lateral (select ctid as row_id, is_seen_live, created_at from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1) t
  where (t.is_seen_live is false and k.at < t.created_at) or (k.is_seen_live and t.is_seen_live is false)
  offset 0
) b
where u.ctid = b.row_id`

/** By user: the first time of the recorded history, and whether the user was seen live. The caller has locked the users, and marks them. */
export async function writeBeginnings(
  tx: Tx,
  environment: Environment,
  beginnings: ReadonlyMap<string, { at: string | null; isSeenLive: boolean }>,
): Promise<void> {
  if (beginnings.size === 0) return
  const all = [...beginnings.values()]
  const values = [environment, [...beginnings.keys()], all.map(({ at }) => at), all.map(({ isSeenLive }) => isSeenLive)]
  await tx.query({ name: 'write-beginnings', text: BEGIN, values })
}
