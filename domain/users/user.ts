import { LOCK } from '../../store/advisory-locks.ts'
import type { Db, Tx } from '../../store/connect.ts'
import { userId } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'

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

/** Throws `not_found` for an id that is unknown here, in the other environment or in another project alike. */
export async function getUser(db: Db, environment: Environment, id: string): Promise<User> {
  const { rows } = await db.query<User>({
    name: 'get-user',
    text: 'select id, created_at, identity_id from users where environment = $1 and id = $2',
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('user')
  return rows[0]
}

/** Throws `not_found` for a user who is unknown here. */
export async function requireUser(db: Db, environment: Environment, user: string): Promise<void> {
  const { rowCount } = await db.query({
    name: 'user-exists',
    text: 'select 1 from users where environment = $1 and id = $2',
    values: [environment, user],
  })
  if (rowCount === 0) throw notFound('user')
}

/**
 * Locks the users whose facts are about to change, in the order of their ids. Throws `not_found` when one is unknown (or erased
 * meanwhile); of the `others` those who are still there are locked.
 */
export async function lockUsers(tx: Tx, environment: Environment, users: string[], others: string[] = []): Promise<void> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'lock-users',
    // One by one and as a range in order, which only the primary key can give: without statistics any index of the environment looks as
    // good, and all of it would be read.
    text: `select u.id from unnest($2::text[]) k(id) cross join lateral (
             select id from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1 for no key update) u`,
    values: [environment, [...new Set([...users, ...others])].sort()],
  })
  const locked = new Set(rows.map(({ id }) => id))
  if (!users.every(user => locked.has(user))) throw notFound('user')
}

/** Part of a batch's first statement: whoever looks users up after it sees every erasure that is over, and none begins before its commit. */
export const SHARE_INGESTION = `pg_advisory_xact_lock_shared(${LOCK.ingestion}, $1::int)`

/** Waits for the batches under way, and holds back the next ones until the transaction ends. */
export const closeIngestion = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.ingestion, environment])
