import { X509Certificate } from 'node:crypto'
import { type Config, readConfig } from '../../app/config.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { inboxCounts, lastSweeps, lastTests, raisedAlerts } from '../../domain/purchases/store-inbox/status.ts'
import { missingParts, type StorePlatform, storeKeys } from '../../domain/purchases/stores/config.ts'
import { type OpenStore, openStore } from '../../domain/purchases/stores/settings.ts'
import { appleRootCertificate } from '../../workflows/stores/apple/root-certificate.ts'
import { quotaOf } from '../../workflows/stores/quota.ts'
import type { PermissionCheck, StoreClient } from '../../workflows/stores/store-client.ts'
import { PROJECT, projectId } from '../arguments.ts'
import type { CommandContext } from '../command.ts'
import { action } from '../definition.ts'
import { jsonText, printable } from '../table.ts'
import { type OpenProject, withProject, withStoreClients } from './open.ts'
import { alertHint, ENVIRONMENT_KINDS, pushAddress, STORE_NAME, STORE_PLATFORMS } from './words.ts'

/** One line of the result. wrong: `text` says what to do. note: to be known, but nothing is wrong. */
type Finding = { is: 'ok' | 'wrong' | 'note'; text: string }

const ok = (text: string): Finding => ({ is: 'ok', text })
const wrong = (text: string): Finding => ({ is: 'wrong', text })
const noted = (text: string): Finding => ({ is: 'note', text })

const SHOWN_ALERTS = 20

type Checking = { open: OpenProject; config: Config; platform: StorePlatform; store: OpenStore; signal: AbortSignal }

const SETTINGS = (platform: StorePlatform) => `POST /v4/project-settings/stores/${platform}`

function settingsOf({ platform, store }: Checking): Finding[] {
  if (!store.enabled)
    return [wrong(`switched off: what the store sends is answered 503. ${SETTINGS(platform)} with {"enabled":true} switches it on`)]
  switch (platform) {
    case 'apple': {
      const missing = missingParts(platform, 'production', store.value)
      const appId = store.value('app_id') === null ? [noted('app_id is not stored: the bundle alone tells for which app Apple signs')] : []
      if (missing.length === 0) return [ok('bundle_id and the key of the App Store Server API are stored'), ...appId]
      return [wrong(`lacks ${missing.join(', ')}: without them Apple cannot be asked. ${SETTINGS(platform)} stores them`), ...appId]
    }
    case 'google': {
      const missing = missingParts(platform, 'production', store.value)
      if (missing.length === 0) return [ok('package_name and service_account_key are stored')]
      return [wrong(`lacks ${missing.join(', ')}: without them nothing of Google Play is accepted. ${SETTINGS(platform)} stores them`)]
    }
    case 'stripe':
    case 'paddle':
      return ENVIRONMENT_KINDS.map(kind => pairOf(platform, kind, store))
    default:
      return platform satisfies never
  }
}

/** The key and the webhook secret of an environment: both, or none where the environment is not used. */
function pairOf(platform: StorePlatform, kind: EnvironmentKind, { value }: OpenStore): Finding {
  const { apiKey, webhookSecret } = storeKeys(kind, value)
  if (apiKey === null && webhookSecret === null) return noted(`${kind} is not set up`)
  if (apiKey !== null && webhookSecret !== null) return ok(`the key and the webhook secret of ${kind} are stored`)
  return wrong(`${kind} lacks ${apiKey === null ? 'its key' : 'its webhook secret'}: ${SETTINGS(platform)} stores it`)
}

function addressFindings({ config, platform, open }: Checking): Finding[] {
  const address = pushAddress(config, platform, open.project)
  if (config.publicUrl === undefined)
    return [wrong(`PUBLIC_URL is not set, so the address for the store is not known: set it for this command and for the service`)]
  if (!address.startsWith('https://') && !config.allowPrivateNetwork)
    return [wrong(`${address} does not begin with https://, and stores send nothing there: see docs/tls-and-proxies.md`)]
  const where: Record<StorePlatform, string> = {
    apple: `enter ${address} in App Store Connect, App Information, App Store Server Notifications, as the Production and the Sandbox Server URL, Version 2`,
    google: `enter ${address} as the endpoint of a push subscription of the Pub/Sub topic, with "Enable authentication", a service account, and the same address as its audience`,
    stripe: `enter ${address} as the address of a webhook endpoint, in live and in test mode`,
    paddle: `enter ${address} as the address of a notification destination, in the live and in the sandbox account`,
  }
  return [noted(where[platform])]
}

function pusherFindings({ platform, store }: Checking): Finding[] {
  if (platform !== 'google') return []
  const pusher = store.value('push_service_account')
  return [
    noted(
      pusher === null
        ? 'pushes are accepted from every service account of the project of service_account_key; push_service_account limits them to one'
        : `pushes are accepted from ${pusher} only`,
    ),
  ]
}

async function rootFindings({ platform, config }: Checking): Promise<Finding[]> {
  if (platform !== 'apple') return []
  const roots = config.stores.appleRoots ?? [await appleRootCertificate()]
  return roots.map(root => {
    const { subject, validTo } = new X509Certificate(root)
    const name = /CN=(.*)/.exec(subject)?.[1] ?? subject
    const text = `root certificate ${name}, valid until ${validTo}`
    return Date.parse(validTo) > Date.now() ? ok(text) : wrong(`${text}: name a newer one in APPLE_ROOT_CERTIFICATES`)
  })
}

const finding = (check: PermissionCheck): Finding =>
  check.is === 'granted' ? ok(check.permission) : wrong(`${check.permission} (${check.why}): ${check.todo}`)

/** Google has one address for both environments. */
const checkedKinds = (platform: StorePlatform): EnvironmentKind[] => (platform === 'google' ? ['production'] : ENVIRONMENT_KINDS)

async function permissionFindings({ open, platform, store, signal }: Checking, client: StoreClient | undefined): Promise<Finding[]> {
  if (!client?.check) return [noted('whether the store accepts the credentials is not checked')]
  const found: Finding[] = []
  for (const kind of checkedKinds(platform)) {
    if (!store.isConnected(kind)) continue
    const budget = { project: open.project, platform, environment: platform === 'google' ? null : kind }
    const quota = quotaOf(open.pool, budget, 'claim', signal)
    found.push(...(await client.check({ settings: store, environment: kind, signal, quota })).map(finding))
  }
  return found
}

async function arrivalFindings({ open: { pool, project }, platform }: Checking): Promise<Finding[]> {
  const [counts, sweeps, tests] = [await inboxCounts(pool, project), await lastSweeps(pool, project), await lastTests(pool, project)]
  const of = <Row extends { platform: StorePlatform }>(rows: Row[]) => rows.filter(row => row.platform === platform)
  const pushes = of(counts).flatMap(({ environment, lastPushAt }) =>
    lastPushAt === null ? [] : [ok(`last push, ${environment ?? 'environment not known yet'}: ${lastPushAt}`)],
  )
  const tested = of(tests).map(({ environment, at }) =>
    ok(`last test notification${environment === null ? '' : `, ${environment}`}: ${at}`),
  )
  const swept = of(sweeps).map(({ environment, at, failure }) =>
    failure === null
      ? ok(`last sweep, ${environment}: ${at}`)
      : wrong(`last sweep, ${environment}: ${at}; the next one fails: ${failure}. It is tried again by itself`),
  )
  const setAside = of(counts).reduce((sum, row) => sum + row.setAside, 0)
  return [
    ...(pushes.length > 0 ? pushes : [noted('no push has arrived yet')]),
    ...tested,
    ...(swept.length > 0 ? swept : [noted('no sweep has succeeded yet')]),
    ...(setAside === 0
      ? []
      : [wrong(`${setAside} notifications are set aside: "stores status ${project}" tells why, "stores replay" reads them again`)]),
  ]
}

async function alertFindings({ open: { pool, project }, platform }: Checking): Promise<Finding[]> {
  const alerts = (await raisedAlerts(pool, project, SHOWN_ALERTS)).filter(alert => alert.platform === platform)
  return alerts.map(({ alert, environment, about, lastAt }) => {
    const where = [environment, about].filter(word => word).join(', ')
    return wrong(`alert ${alert}${where === '' ? '' : ` (${where})`} of ${lastAt}: ${alertHint(alert) ?? 'see docs/stores.md'}`)
  })
}

async function checkStore(checking: Checking, client: StoreClient | undefined): Promise<Finding[]> {
  return [
    ...settingsOf(checking),
    ...(await rootFindings(checking)),
    ...(await permissionFindings(checking, client)),
    ...addressFindings(checking),
    ...pusherFindings(checking),
    ...(await arrivalFindings(checking)),
    ...(await alertFindings(checking)),
  ]
}

const MARK: Record<Finding['is'], string> = { ok: 'ok   ', wrong: 'wrong', note: '     ' }

type Checked = { platform: StorePlatform; findings: Finding[] }

/** What a project's stores need: what is stored, which permissions the stores grant, what has arrived. `onStore` gets each store when it is checked. */
const checkStores = (project: number, { env, signal }: CommandContext, onStore: (checked: Checked) => void): Promise<void> => {
  const config = readConfig(env)
  return withProject({ env, signal }, project, open =>
    withStoreClients(config, async clients => {
      for (const platform of STORE_PLATFORMS) {
        const store = await openStore(open.pool, open.secrets, project, platform)
        if (store !== null) onStore({ platform, findings: await checkStore({ open, config, platform, store, signal }, clients[platform]) })
      }
    }),
  )
}

const print = ({ platform, findings }: Checked, out: CommandContext['out']): void => {
  out(STORE_NAME[platform])
  for (const { is, text } of findings) out(printable(`  ${MARK[is]}  ${text}`))
}

export const storesCheck = action({
  name: 'check',
  summary: 'ask each store whether it accepts the credentials, permission by permission',
  arguments: [PROJECT],
  options: { json: { says: 'print JSON instead of lines' } },
  exits: '0 nothing is wrong, 1 something is: its line says what to do',
  examples: ['stores check 1', 'stores check 1 --json'],
  async run({ args: [given], values: { json } }, context) {
    const checked: Checked[] = []
    await checkStores(projectId(given), context, one => {
      checked.push(one)
      if (!json) print(one, context.out)
    })
    if (json) context.out(jsonText(checked.map(({ platform, findings }) => ({ store: platform, findings }))))
    else if (checked.length === 0)
      context.out('No store is set up: POST /v4/project-settings/stores/{store} stores what docs/stores.md lists.')
    return checked.length === 0 || checked.some(({ findings }) => findings.some(({ is }) => is === 'wrong')) ? 1 : 0
  },
})
