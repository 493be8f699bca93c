import { listProperties, type Property, type PropertyError, setProperties } from '../../domain/users/properties.ts'
import { transaction } from '../../store/transaction.ts'
import { onUser } from './operation.ts'

const property = ({ key, value }: Property) => ({ key, value })
const fault = ({ key, reason }: PropertyError) => ({ key, error: `Property key: ${key}. Error: ${reason}.` })

export const v3ListUserProperties = onUser('v3ListUserProperties', async ({ environment, user, deps }) =>
  (await listProperties(deps.listing, environment, user.id)).map(property),
)

export const v3CreateUserProperties = onUser('v3CreateUserProperties', async ({ body, environment, user, db }) => {
  const { saved, errors } = await transaction(db, tx => setProperties(tx, environment, user.id, body))
  return { savedProperties: saved.map(property), propertyErrors: errors.map(fault) }
})
