import { audit } from '../../domain/audit/record.ts'
import { attachToConfiguration, detachFromConfiguration } from '../../domain/remote-configurations/pins.ts'
import { inTransaction } from '../operation.ts'

export const v4AttachUserToRemoteConfiguration = inTransaction(
  'v4AttachUserToRemoteConfiguration',
  async ({ path: { config_id, user_id }, environment, tx, trail }) => {
    if (await attachToConfiguration(tx, environment, config_id, user_id))
      await audit(tx, trail, { resource: 'remote_configuration', id: config_id, user: user_id, after: { config_id, user_id } })
    return { body: undefined }
  },
)

export const v4DetachUserFromRemoteConfiguration = inTransaction(
  'v4DetachUserFromRemoteConfiguration',
  async ({ path: { config_id, user_id }, environment, tx, trail }) => {
    if (await detachFromConfiguration(tx, environment, config_id, user_id))
      await audit(tx, trail, { resource: 'remote_configuration', id: config_id, user: user_id, before: { config_id, user_id } })
    return { body: undefined }
  },
)
