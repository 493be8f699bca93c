import { audit } from '../../domain/audit/record.ts'
import { listProperties, type Property, setProperties } from '../../domain/users/properties.ts'
import { inTransaction, onPool } from '../operation.ts'
import { fullList } from '../pagination.ts'

const property = ({ key, value }: Property) => ({ object: 'user_property' as const, key, value })

export const v4ListUserProperties = onPool('v4ListUserProperties', async ({ path, environment, db }) => ({
  body: fullList(`/v4/users/${path.user_id}/properties`, (await listProperties(db, environment, path.user_id)).map(property)),
}))

export const v4SetUserProperties = inTransaction('v4SetUserProperties', async ({ path, body, environment, trail, tx }) => {
  const { saved, errors, before } = await setProperties(tx, environment, path.user_id, body.properties)
  const after = Object.fromEntries(saved.map(({ key, value }) => [key, value]))
  if (saved.some(({ key, value }) => before[key] !== value)) {
    await audit(tx, trail, { resource: 'user_property', id: path.user_id, before, after, user: path.user_id })
  }
  return {
    body: {
      object: 'user_properties_set_result' as const,
      url: `/v4/users/${path.user_id}/properties`,
      saved_properties: saved.map(property),
      property_errors: errors,
    },
  }
})
