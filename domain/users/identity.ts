import type { Db, Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import type { Environment } from '../environment.ts'
import { alreadyExists, notFound } from '../refusal.ts'
import { createIdentifiedUsers } from './user.ts'

export type Identity = { id: string; user_id: string }

async function find(db: Db, environment: Environment, identity: string): Promise<Identity | undefined> {
  const { rows } = await db.query<Identity>({
    name: 'get-identity',
    text: 'select identity_id as id, id as user_id from users where environment = $1 and identity_id = $2',
    values: [environment, identity],
  })
  return rows[0]
}

export async function getIdentity(db: Db, environment: Environment, identity: string): Promise<Identity> {
  const found = await find(db, environment, identity)
  if (!found) throw notFound('identity')
  return found
}

const taken = () => alreadyExists('the identity exists already')

/** Links an identity to a user, or to a new user when `user` is null. The unique index decides between two writers of one identity. */
export async function createIdentity(tx: Tx, environment: Environment, identity: string, user: string | null): Promise<Identity> {
  if (await find(tx, environment, identity)) throw taken()
  if (user === null) {
    const made = await createIdentifiedUsers(tx, environment, [identity])
    const id = made.get(identity)
    if (!id) throw taken()
    return { id: identity, user_id: id }
  }
  try {
    const linked = await tx.query('update users set identity_id = $3 where environment = $1 and id = $2 and identity_id is null', [
      environment,
      user,
      identity,
    ])
    if (linked.rowCount === 1) return { id: identity, user_id: user }
  } catch (error) {
    if (isUniqueViolation(error, 'users_by_identity')) throw taken()
    throw error
  }
  const known = await tx.query('select 1 from users where environment = $1 and id = $2', [environment, user])
  throw known.rowCount === 0 ? notFound('user_id') : alreadyExists('the user has another identity already')
}
