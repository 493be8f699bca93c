import type { Db } from '../../store/connect.ts'
import { openText, type Secrets, sealText } from '../projects/secrets.ts'

export type StorePlatform = 'apple' | 'google' | 'stripe' | 'paddle'

type Parts = { fields: readonly string[]; secrets: readonly string[] }
const KEYED = { fields: [], secrets: ['api_key', 'webhook_secret'] }

/** The fields and secrets of each store's configuration, in the order of the API's answers. */
export const STORE_CONFIG_PARTS: Record<StorePlatform, Parts> = {
  apple: {
    fields: ['app_id', 'bundle_id', 'connect_key_identifier', 'connect_issuer_id', 'iap_key_identifier', 'iap_issuer_id'],
    secrets: ['shared_secret', 'connect_private_key', 'iap_private_key'],
  },
  google: { fields: ['package_name'], secrets: ['service_account_key'] },
  stripe: KEYED,
  paddle: KEYED,
}

const triplet = (prefix: string) => [`${prefix}_key_identifier`, `${prefix}_private_key`, `${prefix}_issuer_id`]

/** Credentials of Apple that work only together. */
export const CONNECT_TRIPLET = triplet('connect')
export const IAP_TRIPLET = triplet('iap')

/** `fields` and `secrets` have only stored values, never null. Secrets are sealed, as text. */
export type StoreConfig = {
  platform: StorePlatform
  enabled: boolean
  fields: Record<string, string>
  secrets: Record<string, string>
}

export const emptyStoreConfig = (platform: StorePlatform): StoreConfig => ({ platform, enabled: false, fields: {}, secrets: {} })

/** The project's configuration of a store; null until something is stored. */
export async function findStoreConfig(db: Db, project: number, platform: StorePlatform): Promise<StoreConfig | null> {
  const { rows } = await db.query<StoreConfig>({
    name: 'find-store-config',
    text: 'select platform, enabled, fields, secrets from store_configs where project = $1 and platform = $2',
    values: [project, platform],
  })
  return rows[0] ?? null
}

/** Binds a sealed secret to its configuration and name. */
const sealContext = (project: number, platform: StorePlatform, name: string) => `store:${project}:${platform}:${name}`

export const sealStoreSecret = (secrets: Secrets, project: number, platform: StorePlatform, name: string, plain: string): string =>
  sealText(secrets, plain, sealContext(project, platform, name))

/** A stored secret in clear; null when none is stored. */
export function openStoreSecret(
  secrets: Secrets,
  project: number,
  platform: StorePlatform,
  config: StoreConfig,
  name: string,
): string | null {
  const sealed = config.secrets[name]
  return sealed === undefined ? null : openText(secrets, sealed, sealContext(project, platform, name))
}

const REQUIRED: Record<StorePlatform, string[]> = {
  apple: ['bundle_id', ...IAP_TRIPLET],
  google: ['package_name', 'service_account_key'],
  stripe: ['api_key'],
  paddle: ['api_key'],
}

/** Whether the configuration is complete enough to ask the store about purchases. */
export const isConnected = ({ platform, enabled, fields, secrets }: StoreConfig): boolean =>
  enabled && REQUIRED[platform].every(name => name in fields || name in secrets)
