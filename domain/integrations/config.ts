import type { Db, Tx } from '../../store/connect.ts'
import { slugOf } from '../events/catalogue.ts'
import type { Environment } from '../kernel/environment.ts'
import { notFound } from '../kernel/refusal.ts'
import { openText, type Secrets, sealText } from '../projects/secrets.ts'
import { providerOf } from './providers.ts'

export const SIGNING_SECRET = 'signing_secret'
/** Name of the previous signing secret in the opened settings. Deliveries are signed with it too, for 24 hours after its change. */
export const FORMER_SIGNING_SECRET = 'former_signing_secret'

/** As stored: `settings` without nulls and defaults, `secrets` sealed. */
export type IntegrationConfig = {
  id: string
  slug: string
  active: 0 | 1 | 2
  settings: Record<string, unknown>
  secrets: Record<string, string>
  /** Null once its 24 hours are over. */
  former_signing_secret: string | null
  events: string[] | null
  event_mapping: Record<string, string>
  revenue: 'price' | 'proceeds'
  configured_at: string | null
}

export const CONFIG_COLUMNS = `i.id, i.slug, i.active, i.settings, i.secrets, i.events, i.event_mapping, i.revenue, i.configured_at,
  case when i.signing_secret_changed_at > clock_timestamp() - interval '24 hours' then i.former_signing_secret end as former_signing_secret`

async function find(db: Db, environment: Environment, id: string, lock: string): Promise<IntegrationConfig> {
  const { rows } = await db.query<IntegrationConfig>(
    `select ${CONFIG_COLUMNS} from integrations i where i.environment = $1 and i.id = $2 and i.deleted_at is null ${lock}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('integration')
  return rows[0]
}

export const getConfig = (db: Db, environment: Environment, id: string): Promise<IntegrationConfig> => find(db, environment, id, '')
export const lockConfig = (tx: Tx, environment: Environment, id: string): Promise<IntegrationConfig> =>
  find(tx, environment, id, 'for update')

/** The key and the context with which a secret is sealed. */
export type Sealing = { secrets: Secrets; environment: Environment; integration: string }

/** Binds a sealed secret to its integration and name. */
const sealContext = ({ environment, integration }: Sealing, name: string) => `integration:${environment}:${integration}:${name}`

export const sealSecret = (sealing: Sealing, name: string, plain: string): string =>
  sealText(sealing.secrets, plain, sealContext(sealing, name))

export const openSecret = (sealing: Sealing, name: string, sealed: string): string =>
  openText(sealing.secrets, sealed, sealContext(sealing, name))

/** All settings with their values or defaults, secrets in clear. Unset settings are absent. */
export function openSettings(
  sealing: Sealing,
  { slug, settings, secrets, former_signing_secret: former }: IntegrationConfig,
): Record<string, unknown> {
  const open: Record<string, unknown> = {}
  for (const { name, secret, default: fallback } of providerOf(slug).settings) {
    const sealed = secrets[name]
    const value = secret ? sealed && openSecret(sealing, name, sealed) : (settings[name] ?? fallback)
    if (value !== undefined) open[name] = value
  }
  if (former !== null) open[FORMER_SIGNING_SECRET] = openSecret(sealing, SIGNING_SECRET, former)
  return open
}

/** The outgoing event names by slug. A mapping may name an event by uid and by slug: the name of the slug counts. */
export function outgoingNames(mapping: Record<string, string>): Map<string, string> {
  const names = new Map<string, string>()
  for (const [type, name] of Object.entries(mapping)) {
    const slug = slugOf(type)
    if (slug !== null && (type === slug || !names.has(slug))) names.set(slug, name)
  }
  return names
}
