import { audit } from '../../domain/audit/record.ts'
import {
  changeStatus,
  createConfiguration,
  deleteConfiguration,
  getConfiguration,
  listConfigurations,
  replaceConfiguration,
} from '../../domain/remote-configurations/configuration.ts'
import type { Configuration } from '../../domain/remote-configurations/lock.ts'
import { shownCondition } from '../../domain/segments/condition.ts'
import { inTransaction, onPool } from '../operation.ts'
import { cursorPage, restartedHeader } from '../pagination.ts'

const shown = (row: Configuration) => ({
  object: 'remote_configuration' as const,
  id: row.id,
  url: `/v4/remote-configurations/${row.id}`,
  name: row.name,
  status: row.status,
  segment_percent: Number(row.segment_percent),
  segmentation_conditions: row.segmentation_conditions.map(shownCondition),
  context_key: row.context_key,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

export const v4ListRemoteConfigurations = onPool(
  'v4ListRemoteConfigurations',
  async ({ query: { limit, starting_after }, environment, db }) => {
    const { rows, restarted } = await listConfigurations(db, environment, limit, starting_after)
    return { body: cursorPage({ url: '/v4/remote-configurations', rows, limit, item: shown }), headers: restartedHeader(restarted) }
  },
)

export const v4CreateRemoteConfiguration = inTransaction('v4CreateRemoteConfiguration', async ({ body, environment, tx, trail }) => {
  const made = shown(await createConfiguration(tx, environment, body))
  await audit(tx, trail, { resource: 'remote_configuration', id: made.id, after: made })
  return { body: made }
})

export const v4GetRemoteConfiguration = onPool('v4GetRemoteConfiguration', async ({ path, environment, db }) => {
  const row = await getConfiguration(db, environment, path.config_id)
  return { body: { ...shown(row), payload: row.payload } }
})

export const v4UpdateRemoteConfiguration = inTransaction('v4UpdateRemoteConfiguration', async ({ path, body, environment, tx, trail }) => {
  const { before, after } = await replaceConfiguration(tx, environment, path.config_id, body)
  if (before !== after)
    await audit(tx, trail, { resource: 'remote_configuration', id: after.id, before: shown(before), after: shown(after) })
  return { body: shown(after) }
})

export const v4DeleteRemoteConfiguration = inTransaction('v4DeleteRemoteConfiguration', async ({ path, environment, tx, trail }) => {
  const before = await deleteConfiguration(tx, environment, path.config_id)
  await audit(tx, trail, { resource: 'remote_configuration', id: before.id, before: shown(before) })
  return { body: undefined }
})

export const v4ChangeRemoteConfigurationStatus = inTransaction(
  'v4ChangeRemoteConfigurationStatus',
  async ({ path, body, environment, tx, trail }) => {
    const { before, after } = await changeStatus(tx, environment, path.config_id, body.status)
    if (before !== after)
      await audit(tx, trail, { resource: 'remote_configuration', id: after.id, before: shown(before), after: shown(after) })
    return { body: shown(after) }
  },
)
