import type { Tx } from '../../../store/connect.ts'
import type { Secrets } from '../../projects/secrets.ts'
import {
  emptyStoreConfig,
  findStoreConfig,
  openStoreSecret,
  STORE_CONFIG_PARTS,
  type StoreConfig,
  type StorePlatform,
  sealStoreSecret,
} from './config.ts'
import { refuseIncomplete, type StoreChange } from './validate-credentials.ts'

type Owner = { secrets: Secrets; project: number; platform: StorePlatform }

const without = (values: Record<string, string>, name: string) => Object.fromEntries(Object.entries(values).filter(([key]) => key !== name))

/** Applies the change to the configuration. Returns the same object when the change has only stored values. */
function applyChange({ secrets, project, platform }: Owner, config: StoreConfig, change: StoreChange): StoreConfig {
  let result = config
  for (const [name, value] of Object.entries(change)) {
    const isSecret = STORE_CONFIG_PARTS[platform].secrets.includes(name)
    const part = isSecret ? 'secrets' : 'fields'
    const old = isSecret ? openStoreSecret(secrets, project, platform, result, name) : (result.fields[name] ?? null)
    if (old === value) continue
    const rest = without(result[part], name)
    const stored = value !== null && isSecret ? sealStoreSecret(secrets, project, platform, name, value) : value
    result = { ...result, [part]: stored === null ? rest : { ...rest, [name]: stored } }
  }
  return result
}

/**
 * Stores the given values, which `validateStoreChange` has accepted. `before` is null when nothing was stored; `isChanged` is false when all given values are the stored ones.
 * The first stored value enables the store. Later only `enabled` switches it.
 */
export async function updateStoreConfig(
  tx: Tx,
  owner: Owner,
  change: StoreChange,
  enabled: boolean | undefined,
): Promise<{ before: StoreConfig | null; after: StoreConfig; isChanged: boolean }> {
  const { project, platform } = owner
  refuseIncomplete(change)
  // The configuration may have no row yet. Two writers therefore wait for each other at the project's row.
  await tx.query('select 1 from projects where id = $1 for no key update', [project])
  const before = await findStoreConfig(tx, project, platform)
  const old = before ?? emptyStoreConfig(platform)
  const merged = applyChange(owner, old, change)
  const isEnabled = enabled ?? (before ? before.enabled : merged !== old)
  if (merged === old && isEnabled === old.enabled) return { before, after: old, isChanged: false }
  const after = { ...merged, enabled: isEnabled }
  await tx.query(
    `insert into store_configs (project, platform, enabled, fields, secrets, updated_at) values ($1, $2, $3, $4, $5, clock_timestamp())
     on conflict (project, platform) do update set enabled = excluded.enabled, fields = excluded.fields, secrets = excluded.secrets,
       updated_at = excluded.updated_at`,
    [project, platform, after.enabled, JSON.stringify(after.fields), JSON.stringify(after.secrets)],
  )
  return { before, after, isChanged: true }
}
