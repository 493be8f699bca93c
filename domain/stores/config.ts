import type { Db } from '../../store/connect.ts'
import type { Secrets } from '../projects/secrets.ts'

export type StorePlatform = 'apple' | 'google' | 'stripe' | 'paddle'

type Parts = { fields: readonly string[]; secrets: readonly string[] }
const KEYED = { fields: [], secrets: ['api_key', 'webhook_secret'] }

/** What a configuration consists of, in the order in which it is shown. */
export const PARTS: Record<StorePlatform, Parts> = {
  apple: {
    fields: ['app_id', 'bundle_id', 'connect_key_identifier', 'connect_issuer_id', 'iap_key_identifier', 'iap_issuer_id'],
    secrets: ['shared_secret', 'connect_private_key', 'iap_private_key'],
  },
  google: { fields: ['package_name'], secrets: ['service_account_key'] },
  stripe: KEYED,
  paddle: KEYED,
}

const triplet = (prefix: string) => [`${prefix}_key_identifier`, `${prefix}_private_key`, `${prefix}_issuer_id`]

/** Apple's credentials that are good for nothing in part. */
export const CONNECT_TRIPLET = triplet('connect')
export const IAP_TRIPLET = triplet('iap')

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
