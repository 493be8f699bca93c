import { audit } from '../../domain/audit/record.ts'
import { Refusal } from '../../domain/refusal.ts'
import { findStoreConfig, nothingStored, PARTS, type StoreConfig } from '../../domain/stores/config.ts'
import { updateStoreConfig } from '../../domain/stores/update.ts'
import type { Answer } from '../../schemas/operation-types.ts'
import { inTransaction, onPool } from '../operation.ts'
import { NO_STORE } from './project-settings.ts'

const storeConfig = ({ platform, enabled, fields, secrets }: StoreConfig) =>
  ({
    object: 'store_config',
    url: `/v4/project-settings/stores/${platform}`,
    platform,
    enabled,
    ...Object.fromEntries(PARTS[platform].secrets.map(name => [`has_${name}`, name in secrets])),
    ...Object.fromEntries(PARTS[platform].fields.map(name => [name, fields[name] ?? null])),
  }) as Answer<'v4GetStoreConfig'>

export const v4GetStoreConfig = onPool('v4GetStoreConfig', async ({ path: { platform }, project, db }) => ({
  body: storeConfig((await findStoreConfig(db, project, platform)) ?? nothingStored(platform)),
  headers: NO_STORE,
}))

export const v4UpdateStoreConfig = inTransaction(
  'v4UpdateStoreConfig',
  async ({ path: { platform }, body: { enabled, ...change }, project, trail, tx, deps }) => {
    if (enabled === false && trail.actor.kind !== 'mcp')
      throw new Refusal('control_forbidden', 'a store is switched off through the MCP server only')
    const { before, after, isChanged } = await updateStoreConfig(tx, { secrets: deps.secrets, project, platform }, change, enabled)
    const shown = storeConfig(after)
    if (isChanged) {
      const entry = { resource: 'store_config', id: platform, before: before && storeConfig(before), after: shown }
      await audit(tx, { ...trail, environment: null }, entry)
    }
    return { body: shown }
  },
  NO_STORE,
)
