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
      { name: 'high-availability', title: 'High availability' },
      { name: 'upgrading', title: 'Upgrading' },
      { name: 'configuration', title: 'Configuration' },
      { name: 'console', title: 'Console' },
      { name: 'operators', title: 'Operators' },
      { name: 'api-keys', title: 'Keys' },
      { name: 'assistants', title: 'Assistants' },
      { name: 'tls-and-proxies', title: 'TLS and proxies' },
      { name: 'tracing', title: 'Tracing' },
      { name: 'runbooks', title: 'Runbooks' },
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

/** One page for each kind of alert, below the page that lists them. */
const RUNBOOKS = [
  ['process-down', 'A process does not answer'],
  ['server-errors', 'Requests fail'],
  ['slow-answers', 'Answers are slow'],
  ['redis-away', 'Redis does not answer, or may forget'],
  ['overdue', 'Jobs are late'],
  ['unknown-jobs', 'Nobody knows a kind of job'],
  ['consumer-behind', 'Automations or integrations are behind the events'],
  ['events-set-aside', 'Events were set aside'],
  ['orphans', 'Unfinished work has no job'],
  ['reports-failed', 'Scheduled reports failed'],
  ['automation-runs-failed', 'Runs of automations failed'],
  ['files-not-removed', 'Files are not removed'],
  ['deliveries-held', 'Deliveries are held'],
  ['deliveries-exhausted', 'Deliveries failed for good'],
  ['facts-behind', 'Charts are behind'],
  ['fact-drift', 'Stored facts differ, or nobody compares them'],
  ['customers-set-aside', 'Facts of customers cannot be computed'],
  ['store-notifications-late', 'Notifications of a store wait'],
  ['store-notifications-set-aside', 'Notifications of a store were set aside'],
  ['store-credentials', 'A store refuses the credentials'],
  ['store-pushes-missing', 'A store has sent no notification'],
  ['store-notifications-refused', 'Notifications of a store are refused'],
  ['purchases-unacknowledged', 'Purchases are not acknowledged at Google Play'],
].map(([name, title]): Page => ({ name: `runbooks/${name}`, title: title! }))

export const PAGES: readonly Page[] = [...MAP.flatMap(({ pages }) => pages), ...RUNBOOKS]
