import { LOCK } from '../../store/advisory-locks.ts'
import type { Tx } from '../../store/connect.ts'
import { userId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'

export type User = { id: string; created_at: string; identity_id: string | null }

/**
 * Creations share this lock and an export's cut takes it alone for a moment: so no user is committed later with a creation time
 * before the cut (which would be missing from the export before the edge and from the one after it).
 */
export const shareCreation = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock_shared($1, $2)', [LOCK.creation, environment])

export const closeCreation = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.creation, environment])

/** A new user with a server-issued id, without identity. */
export async function createUser(tx: Tx, environment: Environment): Promise<User> {
  await shareCreation(tx, environment)
  const { rows } = await tx.query<User>(
    `insert into users (environment, id, created_at, last_seen_at) select $1, $2, t, t from environment_now($1) t
     returning id, created_at, identity_id`,
    [environment, userId()],
  )
  return rows[0]!
}

/**
 * Users for identities that have none yet, linked. An identity that a concurrent writer took first is simply not in the answer.
 * Rows are inserted in the order of their identities: two batches with the same newcomers wait for each other, never in a circle.
 */
export async function createIdentifiedUsers(tx: Tx, environment: Environment, identities: string[]): Promise<Map<string, string>> {
  await shareCreation(tx, environment)
  const sorted = [...new Set(identities)].sort()
  const { rows } = await tx.query<{ id: string; identity_id: string }>(
    `insert into users (environment, id, created_at, last_seen_at, identity_id)
     select $1, u.id, t, t, u.identity_id from environment_now($1) t, unnest($2::text[], $3::text[]) with ordinality u(id, identity_id, n) order by n
     on conflict (environment, identity_id) where identity_id is not null do nothing returning id, identity_id`,
    [environment, sorted.map(userId), sorted],
  )
  return new Map(rows.map(row => [row.identity_id, row.id]))
}
