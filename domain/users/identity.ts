import type { Db, Tx } from '../../store/connect.ts'
import { isUniqueViolation } from '../../store/failures.ts'
import { savepoint } from '../../store/transaction.ts'
import type { Environment } from '../kernel/environment.ts'
import { alreadyExists, notFound } from '../kernel/refusal.ts'
import { createIdentifiedUsers } from './user.ts'

export type Identity = { id: string; user_id: string }

async function find(db: Db, environment: Environment, identity: string): Promise<Identity | undefined> {
  // An ordered range leaves one index to a plan that was made while the table was empty.
  const { rows } = await db.query<Identity>({
    name: 'get-identity',
    text: 'select identity_id as id, id as user_id from users where environment = $1 and identity_id >= $2 and identity_id <= $2 order by identity_id limit 1',
    values: [environment, identity],
  })
  return rows[0]
}

export async function getIdentity(db: Db, environment: Environment, identity: string): Promise<Identity> {
  const found = await find(db, environment, identity)
  if (!found) throw notFound('identity')
  return found
}

/** The identity in the first of the environments that has it. */
export async function findIdentity(db: Db, environments: Environment[], identity: string): Promise<Identity | undefined> {
  for (const environment of environments) {
    const found = await find(db, environment, identity)
    if (found) return found
  }
  return undefined
}

/** `linked before`: to this user; `identity taken`: by another user; `user identified`: by another identity. */
export type LinkOutcome = 'linked' | 'no user' | 'linked before' | 'identity taken' | 'user identified'

/** Links an identity to a user. Links are never changed; the lock of the user and the unique index decide between concurrent writers. */
export async function linkIdentity(tx: Tx, environment: Environment, identity: string, user: string): Promise<LinkOutcome> {
  const { rows } = await tx.query<{ identity_id: string | null }>(
    'select identity_id from users where environment = $1 and id = $2 for no key update',
    [environment, user],
  )
  if (!rows[0]) return 'no user'
  const { identity_id: present } = rows[0]
  if (present === identity) return 'linked before'
  if (await find(tx, environment, identity)) return 'identity taken'
  if (present !== null) return 'user identified'
  try {
    await savepoint(tx, () =>
      tx.query('update users set identity_id = $3 where environment = $1 and id = $2', [environment, user, identity]),
    )
    return 'linked'
  } catch (error) {
    // Another user has the identity: this user is locked.
    if (isUniqueViolation(error, 'users_by_identity')) return 'identity taken'
    throw error
  }
}

/** Creates a user for an identity and returns its id; null when the identity exists. `isSeenLive`: an app requests it. */
export async function createIdentifiedUser(
  tx: Tx,
  environment: Environment,
  identity: string,
  { isSeenLive = false } = {},
): Promise<string | null> {
  if (await find(tx, environment, identity)) return null
  return (await createIdentifiedUsers(tx, environment, [{ identity, history: null, isSeenLive }])).get(identity) ?? null
}

const taken = () => alreadyExists('the identity exists already')

/** Links an identity to a user, or to a new user when `user` is null. Throws `already_exists`, and `not_found` for an unknown user. */
export async function createIdentity(tx: Tx, environment: Environment, identity: string, user: string | null): Promise<Identity> {
  if (user === null) {
    const made = await createIdentifiedUser(tx, environment, identity)
    if (made === null) throw taken()
    return { id: identity, user_id: made }
  }
  // First of all, whatever the user.
  if (await find(tx, environment, identity)) throw taken()
  const outcome = await linkIdentity(tx, environment, identity, user)
  switch (outcome) {
    case 'linked':
      return { id: identity, user_id: user }
    case 'no user':
      throw notFound('user_id')
    case 'linked before':
    case 'identity taken':
      throw taken()
    case 'user identified':
      throw alreadyExists('the user has another identity already')
    default:
      return outcome satisfies never
  }
}
