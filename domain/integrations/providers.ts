import type { IntegrationPlatform, Provider, Setting, SettingKind, Takes } from './provider.ts'

type Mark = Partial<Omit<Setting, 'name'>>
const set = (name: string, mark: Mark = {}): Setting => ({ name, kind: 'text', required: false, secret: false, ...mark })
const need = (name: string, kind: SettingKind = 'text') => set(name, { kind, required: true })
const secret = (name: string, kind: SettingKind = 'text') => set(name, { kind, secret: true })
const needSecret = (name: string, kind: SettingKind = 'text') => set(name, { kind, required: true, secret: true })
/** Replaces the vendor's own address, for providers that are called over HTTP. */
const BASE_URL = set('base_url', { kind: 'url' })

const ALL = ['iOS', 'Android', 'Stripe'] as const
const APPS = ['iOS', 'Android'] as const
const APPLE = ['iOS'] as const

type Row = [slug: string, title: string, stores: readonly IntegrationPlatform[], takes: string, settings: Setting[]]

const ANALYTICS: Row[] = [
  ['amplitude', 'Amplitude', ALL, 'E', [needSecret('api_key'), BASE_URL]],
  ['appmetrica', 'AppMetrica', APPS, 'E', [need('application_id'), needSecret('post_api_key'), BASE_URL]],
  ['facebook', 'Facebook', APPS, 'E', [need('app_id'), needSecret('access_token'), BASE_URL]],
  [
    'firebase',
    'Firebase',
    APPS,
    'EA',
    [
      need('firebase_app_id'),
      needSecret('api_secret'),
      secret('service_account_key', 'long'),
      set('fcm_token_property', { default: 'fcm_token' }),
      BASE_URL,
    ],
  ],
  ['mixpanel', 'Mixpanel', ALL, 'E', [needSecret('project_token'), BASE_URL]],
  ['posthog', 'PostHog', ALL, 'E', [needSecret('project_api_key'), BASE_URL]],
  ['segment', 'Segment', ALL, 'E', [needSecret('write_key'), BASE_URL]],
]

const ATTRIBUTIONS: Row[] = [
  [
    'searchads',
    'Apple Search Ads',
    APPLE,
    '',
    [need('client_id'), need('team_id'), need('key_id'), needSecret('private_key', 'long'), set('org_id'), BASE_URL],
  ],
  ['adjust', 'Adjust', APPS, 'E', [needSecret('app_token'), secret('s2s_token'), BASE_URL]],
  ['appsflyer', 'AppsFlyer', APPS, 'E', [need('app_id'), needSecret('dev_key'), BASE_URL]],
  ['branch', 'Branch', APPS, 'E', [needSecret('branch_key'), BASE_URL]],
  ['kochava', 'Kochava', APPS, 'E', [needSecret('app_guid'), BASE_URL]],
  ['singular', 'Singular', APPS, 'E', [needSecret('sdk_key'), need('app_bundle_id'), BASE_URL]],
  ['split_metrics', 'SplitMetrics Acquire', APPLE, 'E', [need('app_id'), needSecret('api_key'), BASE_URL]],
  ['asapty', 'Asapty', APPLE, 'E', [needSecret('api_key'), BASE_URL]],
  ['tenjin', 'Tenjin', APPS, 'E', [need('app_bundle_id'), needSecret('sdk_key'), BASE_URL]],
]

const SERVER: Row[] = [
  [
    'amazon_s3',
    'Amazon S3',
    ALL,
    'R',
    [
      need('bucket'),
      set('region', { required: true, isHost: true }),
      need('access_key_id'),
      needSecret('secret_access_key'),
      set('prefix'),
      set('endpoint', { kind: 'url' }),
    ],
  ],
  [
    'google_cloud_storage',
    'Google Cloud Storage',
    ALL,
    'R',
    [need('bucket'), needSecret('service_account_key', 'long'), set('prefix'), BASE_URL],
  ],
  ['slack', 'Slack', ALL, 'ER', [needSecret('webhook_url', 'url')]],
  [
    'webhooks',
    'Webhooks',
    ALL,
    'ERA',
    [
      set('url', { kind: 'url', required: true, choice: 'address' }),
      set('sandbox_url', { kind: 'url', required: true, choice: 'address' }),
      secret('authorization_token'),
      secret('signing_secret', 'signing_secret'),
    ],
  ],
]

const MESSAGES: Row[] = [
  ['braze', 'Braze', ALL, 'E', [need('rest_endpoint', 'url'), needSecret('api_key'), set('app_id'), BASE_URL]],
  ['clevertap', 'CleverTap', APPS, 'E', [need('account_id'), needSecret('passcode'), set('region', { isHost: true }), BASE_URL]],
  ['mailchimp', 'Mailchimp', ALL, 'E', [need('audience_id'), needSecret('api_key'), BASE_URL]],
  ['onesignal', 'OneSignal', APPS, 'EA', [need('app_id'), needSecret('rest_api_key'), BASE_URL]],
  ['pushwoosh', 'Pushwoosh', APPS, 'E', [need('application_code'), needSecret('api_token'), BASE_URL]],
  [
    'email',
    'E-mail (SMTP)',
    ALL,
    'RA',
    [
      set('host', { required: true, isHost: true }),
      set('port', { kind: 'port', required: true, isHost: true }),
      need('from'),
      set('secure', { kind: 'boolean', default: true, isHost: true }),
      set('username'),
      secret('password'),
      set('recipients', { kind: 'emails' }),
    ],
  ],
]

const CATEGORIES: [title: string, rows: Row[]][] = [
  ['Analytics & Marketing', ANALYTICS],
  ['Attributions', ATTRIBUTIONS],
  ['Server', SERVER],
  ['Email & Push Notifications', MESSAGES],
]

/** All providers, in the order of the API's answer. */
export const PROVIDERS: readonly Provider[] = CATEGORIES.flatMap(([category, rows]) =>
  rows.map(([slug, title, stores, takes, settings]) => ({
    category,
    slug,
    title,
    stores,
    takes: [...takes] as Takes[],
    settings,
  })),
)

const bySlug = new Map(PROVIDERS.map(provider => [provider.slug, provider]))

/** The provider of a stored integration. Throws for another slug: the API stores only slugs of the table. */
export function providerOf(slug: string): Provider {
  const provider = bySlug.get(slug)
  if (!provider) throw new Error(`no provider ${slug}`)
  return provider
}

export const takesEvents = (slug: string): boolean => providerOf(slug).takes.includes('E')

/** The categories and their providers, in the order of the table. */
export function categories(): { title: string; items: Provider[] }[] {
  const titles = [...new Set(PROVIDERS.map(({ category }) => category))]
  return titles.map(title => ({ title, items: PROVIDERS.filter(({ category }) => category === title) }))
}
