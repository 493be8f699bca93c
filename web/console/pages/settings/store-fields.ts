import type { Input } from '../../data/operations.ts'

export type Platform = Input<'v4UpdateStoreConfig'>['path']['platform']

type StoreFields = { title: string; fields: Readonly<Record<string, string>>; secrets: Readonly<Record<string, string>> }

/** What each store has: what can be read, and secrets, of which only whether they are stored is known. */
export const STORES: Readonly<Record<Platform, StoreFields>> = {
  apple: {
    title: 'App Store',
    fields: {
      bundle_id: 'Bundle id',
      app_id: 'App id',
      iap_key_identifier: 'Id of the in-app purchase key',
      iap_issuer_id: 'Issuer of the in-app purchase key',
      connect_key_identifier: 'Id of the App Store Connect key',
      connect_issuer_id: 'Issuer of the App Store Connect key',
    },
    secrets: { iap_private_key: 'In-app purchase key', connect_private_key: 'App Store Connect key', shared_secret: 'Shared secret' },
  },
  google: {
    title: 'Google Play',
    fields: { package_name: 'Package name', push_service_account: 'Service account of the pushes' },
    secrets: { service_account_key: 'Key of the service account' },
  },
  stripe: {
    title: 'Stripe',
    fields: {},
    secrets: {
      api_key: 'API key',
      webhook_secret: 'Secret of the webhook',
      sandbox_api_key: 'API key, sandbox',
      sandbox_webhook_secret: 'Secret of the webhook, sandbox',
    },
  },
  paddle: {
    title: 'Paddle',
    fields: {},
    secrets: {
      api_key: 'API key',
      webhook_secret: 'Secret of the webhook',
      sandbox_api_key: 'API key, sandbox',
      sandbox_webhook_secret: 'Secret of the webhook, sandbox',
    },
  },
}
