import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'

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
