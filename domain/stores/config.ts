import type { Db } from '../../store/connect.ts'
import type { Secrets } from '../projects/seal.ts'
import { IAP_TRIPLET, type StorePlatform } from './platform.ts'

/** `fields` and `secrets` hold what is stored, no nulls; secrets are sealed, in base64. */
export type StoreConfig = {
  platform: StorePlatform
  enabled: boolean
  fields: Record<string, string>
  secrets: Record<string, string>
}

export const nothingStored = (platform: StorePlatform): StoreConfig => ({ platform, enabled: false, fields: {}, secrets: {} })

/** Configurations belong to the project; null while nothing was stored. */
export async function findStoreConfig(db: Db, project: number, platform: StorePlatform): Promise<StoreConfig | null> {
  const { rows } = await db.query<StoreConfig>({
    name: 'find-store-config',
    text: 'select platform, enabled, fields, secrets from store_configs where project = $1 and platform = $2',
    values: [project, platform],
  })
  return rows[0] ?? null
}

/** What binds a sealed secret to its place. */
const aboutOf = (project: number, platform: StorePlatform, name: string) => `store:${project}:${platform}:${name}`

export const sealStoreSecret = (secrets: Secrets, project: number, platform: StorePlatform, name: string, plain: string): string =>
  secrets.seal(plain, aboutOf(project, platform, name)).toString('base64')

/** A stored secret in clear; null when it is not stored. */
export function openStoreSecret(
  secrets: Secrets,
  project: number,
  platform: StorePlatform,
  config: StoreConfig,
  name: string,
): string | null {
  const sealed = config.secrets[name]
  return sealed === undefined ? null : secrets.open(Buffer.from(sealed, 'base64'), aboutOf(project, platform, name))
}

const NEEDED: Record<StorePlatform, string[]> = {
  apple: ['bundle_id', ...IAP_TRIPLET],
  google: ['package_name', 'service_account_key'],
  stripe: ['api_key'],
  paddle: ['api_key'],
}

/** Whether purchases can be verified with the store. */
export const isConnected = ({ platform, enabled, fields, secrets }: StoreConfig): boolean =>
  enabled && NEEDED[platform].every(name => name in fields || name in secrets)
