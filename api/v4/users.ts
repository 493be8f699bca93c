import { audit } from '../../domain/audit/record.ts'
import type { EnvironmentKind } from '../../domain/environment.ts'
import { invalidField } from '../../domain/refusal.ts'
import { createUser, getUser, type User } from '../../domain/users/user.ts'
import { inTransaction, onPool } from '../operation.ts'

const WORD = { production: 'prod', sandbox: 'sandbox' } as const

const user = ({ id, created_at, identity_id }: User, kind: EnvironmentKind) => ({
  object: 'user' as const,
  id,
  url: `/v4/users/${id}`,
  environment: WORD[kind],
  created_at,
  identity_id,
})

export const v4CreateUser = inTransaction('v4CreateUser', async ({ body, environment, environmentKind, trail, tx }) => {
  if (body.environment !== WORD[environmentKind])
    throw invalidField('environment', `must be ${WORD[environmentKind]}, the environment of the key`)
  const made = user(await createUser(tx, environment), environmentKind)
  await audit(tx, trail, { resource: 'user', id: made.id, after: made, user: made.id })
  return { body: made }
})

export const v4GetUser = onPool('v4GetUser', async ({ path, environment, environmentKind, db }) => ({
  body: user(await getUser(db, environment, path.user_id), environmentKind),
}))
