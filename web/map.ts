/** A page of the documentation: its file is `docs/NAME.md`, its address `/docs/NAME`. `about`: what the first page says of it. */
export type Page = { name: string; title: string; about?: string }

/** The pages in the order in which the site shows them. A page without a place here fails the build. */
export const MAP: readonly { group: string; pages: readonly Page[] }[] = [
  {
    group: 'Start here',
    pages: [
      { name: 'start-apps', title: 'You build an app', about: 'Ask who may use premium, and connect the stores and your SDK.' },
      { name: 'start-growth', title: 'You work on growth', about: 'React to a cancelled trial, try two paywalls, know what it brought.' },
      { name: 'start-data', title: 'You work with data', about: 'Formulas, files, deltas and the facts behind each figure.' },
      { name: 'start-operators', title: 'You run the service', about: 'Start it, put it behind TLS, scale it out, watch it, restore it.' },
    ],
  },
  {
    group: 'First steps',
    pages: [
      { name: 'features', title: 'What Perennial does' },
      { name: 'premium', title: 'Premium is active' },
      { name: 'walk-through', title: 'A trial is cancelled' },
    ],
  },
  {
    group: 'Apps and purchases',
    pages: [
      { name: 'sdks', title: 'SDKs in apps' },
      { name: 'stores', title: 'Stores' },
      { name: 'subscriptions', title: 'Subscriptions' },
      { name: 'errors', title: 'Errors' },
    ],
  },
  {
    group: 'Automate and send',
    pages: [
      { name: 'automations', title: 'Automations' },
      { name: 'integrations', title: 'Integrations' },
      { name: 'destinations', title: 'Destinations' },
      { name: 'email-and-push', title: 'E-mail, push and buckets' },
      { name: 'alerts', title: 'Alerts' },
    ],
  },
  {
    group: 'Figures and files',
    pages: [
      { name: 'analytics', title: 'Analytics' },
      { name: 'reports', title: 'Scheduled reports' },
      { name: 'export-state', title: 'Exports of the state' },
    ],
  },
  {
    group: 'Operate',
    pages: [
      { name: 'installing', title: 'Installing' },
      { name: 'operating', title: 'Operating' },
      { name: 'configuration', title: 'Configuration' },
      { name: 'console', title: 'Console' },
      { name: 'operators', title: 'Operators' },
      { name: 'api-keys', title: 'Keys' },
      { name: 'assistants', title: 'Assistants' },
      { name: 'tls-and-proxies', title: 'TLS and proxies' },
      { name: 'cli', title: 'Command line' },
    ],
  },
  {
    group: 'Inside',
    pages: [
      { name: 'how-it-works', title: 'How it works' },
      { name: 'contributing', title: 'Contributing' },
    ],
  },
]

/** The references of the API by their addresses, with the addresses of their descriptions. */
export const REFERENCES = [
  { path: '/docs/api', title: 'API v4', description: '/v4/openapi.json' },
  { path: '/docs/api/v3', title: 'API v3 (apps in the field)', description: '/v3/openapi.json' },
  { path: '/docs/api/sdk', title: 'Mobile SDKs', description: '/v1/openapi.json' },
] as const

export const PAGES: readonly Page[] = MAP.flatMap(({ pages }) => pages)
