import { audit } from '../../domain/audit/record.ts'
import { createIdentity, getIdentity, type Identity } from '../../domain/users/identity.ts'
import { inTransaction, onPool } from '../operation.ts'

const identity = ({ id, user_id }: Identity) => ({ object: 'identity' as const, id, url: `/v4/identities/${id}`, user_id })

export const v4CreateIdentity = inTransaction('v4CreateIdentity', async ({ body, environment, trail, tx }) => {
  const made = identity(await createIdentity(tx, environment, body.identity_id, body.user_id ?? null))
  await audit(tx, trail, { resource: 'identity', id: made.id, after: made, user: made.user_id })
  return { body: made }
})

export const v4GetIdentity = onPool('v4GetIdentity', async ({ path, environment, db }) => ({
  body: identity(await getIdentity(db, environment, path.identity_id)),
}))
