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
