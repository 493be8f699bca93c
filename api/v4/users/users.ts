import { audit } from '../../../domain/kernel/audit/record.ts'
import type { EnvironmentKind } from '../../../domain/kernel/environment.ts'
import { invalidField } from '../../../domain/kernel/refusal.ts'
import { claimNamed } from '../../../domain/purchases/claim-named.ts'
import { createIdentity, getIdentity, type Identity } from '../../../domain/users/identity.ts'
import { listProperties, type Property, propertyErrors, requireSaved, setProperties } from '../../../domain/users/properties.ts'
import { createUser, getUser, type User } from '../../../domain/users/user.ts'
import { ENVIRONMENT_WORD } from '../../entitlement-values.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { fullList } from '../../pagination.ts'

const user = ({ id, created_at, identity_id }: User, kind: EnvironmentKind) => ({
  object: 'user' as const,
  id,
  url: `/v4/users/${id}`,
  environment: ENVIRONMENT_WORD[kind],
  created_at,
  identity_id,
})

export const v4CreateUser = inTransaction('v4CreateUser', async ({ body, environment, environmentKind, trail, tx }) => {
  if (body.environment !== ENVIRONMENT_WORD[environmentKind])
    throw invalidField('environment', `must be ${ENVIRONMENT_WORD[environmentKind]}, the environment of the key`)
  const made = user(await createUser(tx, environment, body.created_at ?? null), environmentKind)
  await audit(tx, trail, { resource: 'user', id: made.id, after: made, user: made.id })
  return { body: made }
})

export const v4GetUser = onPool('v4GetUser', async ({ path, environment, environmentKind, db }) => ({
  body: user(await getUser(db, environment, path.user_id), environmentKind),
}))

const identity = ({ id, user_id }: Identity) => ({ object: 'identity' as const, id, url: `/v4/identities/${id}`, user_id })

export const v4CreateIdentity = inTransaction('v4CreateIdentity', async ({ body, environment, trail, tx }) => {
  const made = identity(await createIdentity(tx, environment, body.identity_id, body.user_id ?? null))
  await audit(tx, trail, { resource: 'identity', id: made.id, after: made, user: made.user_id })
  await claimNamed(tx, environment, [{ id: made.user_id, identity: made.id }])
  return { body: made }
})

export const v4GetIdentity = onPool('v4GetIdentity', async ({ path, environment, db }) => ({
  body: identity(await getIdentity(db, environment, path.identity_id)),
}))

const property = ({ key, value }: Property) => ({ object: 'user_property' as const, key, value })

export const v4ListUserProperties = onPool('v4ListUserProperties', async ({ path, environment, db }) => ({
  body: fullList(`/v4/users/${path.user_id}/properties`, (await listProperties(db, environment, path.user_id)).map(property)),
}))

export const v4SetUserProperties = inTransaction('v4SetUserProperties', async ({ path, body, environment, trail, tx }) => {
  const { saved, errors, before } = await setProperties(tx, environment, path.user_id, body.properties)
  requireSaved(saved, errors)
  const after = Object.fromEntries(saved.map(({ key, value }) => [key, value]))
  if (saved.some(({ key, value }) => before[key] !== value)) {
    await audit(tx, trail, { resource: 'user_property', id: path.user_id, before, after, user: path.user_id })
  }
  return {
    body: {
      object: 'user_properties_set_result' as const,
      url: `/v4/users/${path.user_id}/properties`,
      saved_properties: saved.map(property),
      property_errors: propertyErrors(errors),
    },
  }
})
