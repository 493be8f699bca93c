import type { Db } from '../../../store/connect.ts'
import type { EnvironmentKind } from '../../kernel/environment.ts'
import { openText, type Secrets, sealText } from '../../projects/secrets.ts'
import type { Store } from '../subscriptions/purchase.ts'

export type StorePlatform = 'apple' | 'google' | 'stripe' | 'paddle'

/** The configuration of the store of a purchase. */
export const CONFIGURATION_OF_STORE: Record<Store, StorePlatform> = {
  app_store: 'apple',
  play_store: 'google',
  stripe: 'stripe',
  paddle: 'paddle',
}

type Parts = { fields: readonly string[]; secrets: readonly string[] }
const KEYED = { fields: [], secrets: ['api_key', 'webhook_secret', 'sandbox_api_key', 'sandbox_webhook_secret'] }

/** The fields and secrets of each store's configuration, in the order of the API's answers. */
export const STORE_CONFIG_PARTS: Record<StorePlatform, Parts> = {
  apple: {
    fields: ['app_id', 'bundle_id', 'connect_key_identifier', 'connect_issuer_id', 'iap_key_identifier', 'iap_issuer_id'],
    secrets: ['shared_secret', 'connect_private_key', 'iap_private_key'],
  },
  google: { fields: ['package_name', 'push_service_account'], secrets: ['service_account_key'] },
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

/** The same of several projects and stores, in order. */
export async function findStoreConfigs(
  db: Db,
  wanted: readonly { project: number; platform: StorePlatform }[],
): Promise<(StoreConfig | null)[]> {
  const { rows } = await db.query<{ config: StoreConfig | null }>({
    name: 'find-store-configs',
    text: `select case when c.platform is not null then
             jsonb_build_object('platform', c.platform, 'enabled', c.enabled, 'fields', c.fields, 'secrets', c.secrets) end as config
           from unnest($1::int[], $2::text[]) with ordinality w(project, platform, n) left join store_configs c using (project, platform) order by n`,
    values: [wanted.map(({ project }) => project), wanted.map(({ platform }) => platform)],
  })
  return rows.map(({ config }) => config)
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

/** Fields and secrets by name, in clear; null: not stored. */
export type StoreValue = (name: string) => string | null

/** The stored fields and secrets of the configuration. A secret is opened when it is read. */
export const storeValue =
  (secrets: Secrets, project: number, config: StoreConfig): StoreValue =>
  name =>
    config.fields[name] ?? openStoreSecret(secrets, project, config.platform, config, name)

/** Keys of test mode (Stripe) or of the sandbox account (Paddle). */
const TEST_KEY = /^(sk_test_|rk_test_|pdl_sdbx_)/

/** The key of the store's API and the secret of its webhooks; null: not stored. */
export type StoreKeys = { apiKey: string | null; webhookSecret: string | null }

/** The pair of an environment, for Stripe and Paddle. An `api_key` of the test mode counts, with its `webhook_secret`, as the sandbox pair. */
export function storeKeys(environment: EnvironmentKind, value: StoreValue): StoreKeys {
  const pair = (prefix: string): StoreKeys => ({ apiKey: value(`${prefix}api_key`), webhookSecret: value(`${prefix}webhook_secret`) })
  const main = pair('')
  const isTest = main.apiKey !== null && TEST_KEY.test(main.apiKey)
  if (environment === 'production') return isTest ? NO_KEYS : main
  const own = pair('sandbox_')
  return isTest && own.apiKey === null ? { ...main, webhookSecret: main.webhookSecret ?? own.webhookSecret } : own
}

const NO_KEYS: StoreKeys = { apiKey: null, webhookSecret: null }

/** The parts that the configuration lacks before purchases of the environment can be fetched from the store. */
export function missingParts(platform: StorePlatform, environment: EnvironmentKind, value: StoreValue): string[] {
  const lacking = (names: string[]) => names.filter(name => value(name) === null)
  switch (platform) {
    case 'apple':
      return lacking(['bundle_id', ...IAP_TRIPLET])
    case 'google':
      return lacking(['package_name', 'service_account_key'])
    case 'stripe':
    case 'paddle':
      return storeKeys(environment, value).apiKey === null ? [environment === 'sandbox' ? 'sandbox_api_key' : 'api_key'] : []
    default:
      return platform satisfies never
  }
}

/** Whether the configuration is complete enough to fetch purchases of the environment from the store. */
export const isConnected = ({ platform, enabled }: StoreConfig, environment: EnvironmentKind, value: StoreValue): boolean =>
  enabled && missingParts(platform, environment, value).length === 0
