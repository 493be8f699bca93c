import { LOCK } from '../../store/advisory-locks.ts'
import { arrayOf } from '../../store/array-literal.ts'
import type { Db, Tx } from '../../store/connect.ts'
import { userId } from '../../store/ids.ts'
import { announceMarks, markInserted } from '../durable/marks/mark.ts'
import type { Environment } from '../kernel/environment.ts'
import { invalidField, notFound } from '../kernel/refusal.ts'
import { isoMicros } from '../kernel/time/instant.ts'

export type User = { id: string; created_at: string; identity_id: string | null }

/**
 * In SQL: when a row of `users` was recorded. It never moves, unlike `created_at`: windows of exports that adjoin share no user and lose none, and the
 * files that may have a user can be found.
 */
export const recordedTime = (alias: string): string => `coalesce(${alias}.recorded_at, ${alias}.created_at)`

/**
 * Creations of users share this advisory lock; the cut of an export's window takes it exclusively until its transaction ends. So no user
 * is committed after the cut that was recorded before the cut: such a user would be missing from the export before the edge and from
 * the export after it.
 */
const lockCreationShared = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock_shared($1, $2)', [LOCK.creation, environment])

export const lockCreation = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.creation, environment])

/** Throws `not_found` for an id that is unknown in this environment, whether or not another environment or project has it. */
export async function getUser(db: Db, environment: Environment, id: string): Promise<User> {
  const { rows } = await db.query<User>({
    name: 'get-user',
    text: 'select id, created_at, identity_id from users where environment = $1 and id = $2',
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('user')
  return rows[0]
}

/** Throws `not_found` for a user that is unknown in this environment. */
export async function requireUser(db: Db, environment: Environment, user: string): Promise<void> {
  const { rowCount } = await db.query({
    name: 'user-exists',
    text: 'select 1 from users where environment = $1 and id = $2',
    values: [environment, user],
  })
  if (rowCount === 0) throw notFound('user')
}

/**
 * Creates a user with an id of the service, without an identity. `createdAt`: an earlier time at which the user began. Throws
 * `invalid_data` for a time in the future.
 */
export async function createUser(tx: Tx, environment: Environment, createdAt: string | null = null): Promise<User> {
  const made = await insertUser(tx, environment, { id: userId(), createdAt, isSeenLive: false })
  if (!made) throw invalidField('created_at', 'must not lie in the future')
  return made
}

/** `among`: both environments of the project. */
export type ChosenUser = { project: number; environment: Environment; among: Environment[]; id: string }

/**
 * Creates a user with an id that the app chose; null when the project has a user with this id, in either environment. Creations with one id wait
 * for each other: no index sees both environments.
 */
export async function createChosenUser(tx: Tx, { project, environment, among, id }: ChosenUser): Promise<User | null> {
  await tx.query('select pg_advisory_xact_lock($1, hashtext($2))', [LOCK.appUser, `${project}:${id}`])
  // A statement of its own: its snapshot includes the transactions that the lock has waited for.
  const { rowCount } = await tx.query('select 1 from users where environment = any($1) and id = $2', [among, id])
  return rowCount === 0 ? ((await insertUser(tx, environment, { id, createdAt: null, isSeenLive: true })) ?? null) : null
}

type InsertedUser = { id: string; createdAt: string | null; isSeenLive: boolean }

/** Undefined, and nothing is inserted, for a beginning in the future. */
async function insertUser(tx: Tx, environment: Environment, { id, createdAt, isSeenLive }: InsertedUser): Promise<User | undefined> {
  await lockCreationShared(tx, environment)
  const { rows } = await tx.query<User>(
    `with inserted as (
       insert into users (environment, id, created_at, last_seen_at, recorded_at, is_seen_live)
       select $1, $2, coalesce($3, t), coalesce($3, t), case when $3 is not null then t end, $4
       from (select environment_now($1) as t offset 0) n where $3::timestamptz is null or $3 <= t
       returning environment, no, id, created_at, identity_id
     ), marked as (${markInserted('inserted')})
     select id, created_at, identity_id from inserted`,
    [environment, id, createdAt, isSeenLive],
  )
  announceMarks(tx, environment)
  return rows[0]
}

/**
 * A user for an identity. `history`: the first and the last time (µs) of the recorded history of the user; null: the user begins now.
 * `isSeenLive`: an app, or an event that acts, shows the user. `id`: the id of the user, if the caller has made one. `isPosted`: facts of
 * the user are posted in the same transaction.
 */
export type NewIdentity = {
  identity: string
  history: { first: number; last: number } | null
  isSeenLive: boolean
  id?: string
  isPosted?: boolean
}

/** A further column of new users. `value`: as a text. */
export type NewUserColumn<T> = { name: string; type: string; value: (user: T) => string | null }

/**
 * Creates a user for each identity that has none yet, with the further columns, and links the two: identity -> id of the user. An identity that a concurrent writer
 * linked first is not in the result. Rows are inserted in the order of their identities, so two batches with the same new identities
 * cannot wait for each other in a circle.
 */
export async function createIdentifiedUsers<T extends NewIdentity>(
  tx: Tx,
  environment: Environment,
  identities: T[],
  columns: readonly NewUserColumn<T>[] = [],
): Promise<Map<string, string>> {
  await lockCreationShared(tx, environment)
  const sorted = identities.map(one => ({ ...one, id: one.id ?? userId() })).sort((a, b) => (a.identity < b.identity ? -1 : 1))
  const times = (of: 'first' | 'last') => sorted.map(({ history }) => history && isoMicros(history[of]))
  const further = (of: (column: NewUserColumn<T>, i: number) => string) => columns.map((column, i) => `, ${of(column, i)}`).join('')
  const { rows } = await tx.query<{ id: string; identity_id: string }>(
    `with inserted as (
       insert into users (environment, id, created_at, last_seen_at, recorded_at, is_seen_live, identity_id${further(({ name }) => name)})
       select $1, u.id, least(u.first, t), case when u.is_seen_live then t else least(u.last, t) end, case when u.first < t then t end, u.is_seen_live, u.identity_id
         ${further(({ name, type }) => `u.${name}::${type}`)}
       from environment_now($1) t, unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::boolean[]${further((_, i) => `$${i + 8}::text[]`)})
         with ordinality u(id, identity_id, first, last, is_seen_live${further(({ name }) => name)}, n) order by n
       on conflict (environment, identity_id) where identity_id is not null do nothing returning environment, no, id, identity_id
     ), marked as (${markInserted('inserted', 'id = any ($7::text[])')})
     select id, identity_id from inserted`,
    [
      environment,
      sorted.map(({ id }) => id),
      sorted.map(({ identity }) => identity),
      times('first'),
      times('last'),
      sorted.map(({ isSeenLive }) => isSeenLive),
      sorted.filter(({ isPosted }) => isPosted).map(({ id }) => id),
      ...columns.map(({ value }) => arrayOf(sorted, value)),
    ],
  )
  announceMarks(tx, environment)
  return new Map(rows.map(row => [row.identity_id, row.id]))
}

/**
 * Locks the rows of users whose facts are about to change, in the order of their ids. Throws `not_found` when one of `users` does not
 * exist, or was erased in the meantime. Of `others`, those that still exist are locked.
 */
export async function lockUsers(tx: Tx, environment: Environment, users: string[], others: string[] = []): Promise<void> {
  const { rows } = await tx.query<{ id: string }>({
    name: 'lock-users',
    // One by one and as an ordered range, which only the primary key can answer: without statistics any index of the environment looks as
    // good to the planner, and all of that index would be read.
    text: `select u.id from unnest($2::text[]) k(id) cross join lateral (
             select id from users where environment = $1 and id >= k.id and id <= k.id order by id limit 1 for no key update) u`,
    values: [environment, [...new Set([...users, ...others])].sort()],
  })
  const locked = new Set(rows.map(({ id }) => id))
  if (!users.every(user => locked.has(user))) throw notFound('user')
}

/**
 * Part of a batch's first statement. A later look-up of users in the same transaction sees every finished erasure, and no erasure begins
 * before the batch commits.
 */
export const LOCK_INGESTION_SHARED = `pg_advisory_xact_lock_shared(${LOCK.ingestion}, $1::int)`

/** Waits for the batches in progress, and blocks further batches until the transaction ends. */
export const lockIngestion = (tx: Tx, environment: Environment) =>
  tx.query('select pg_advisory_xact_lock($1, $2)', [LOCK.ingestion, environment])
