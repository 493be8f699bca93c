import type { Db, Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { slugOf } from '../events/catalogue.ts'
import type { Secrets } from '../projects/secrets.ts'
import { notFound } from '../refusal.ts'
import { providerOf } from './catalogue.ts'

export const SIGNING_SECRET = 'signing_secret'
/** Name under which the secret before the last change goes to whoever signs, for 24 hours. */
export const FORMER_SIGNING_SECRET = 'former_signing_secret'

/** What is stored: `settings` without nulls and defaults, `secrets` sealed. */
export type Config = {
  id: string
  slug: string
  active: 0 | 1 | 2
  settings: Record<string, unknown>
  secrets: Record<string, string>
  /** Only while it is still good. */
  former_signing_secret: string | null
  events: string[] | null
  event_mapping: Record<string, string>
  revenue: 'price' | 'proceeds'
  configured_at: string | null
}

export const CONFIG_COLUMNS = `i.id, i.slug, i.active, i.settings, i.secrets, i.events, i.event_mapping, i.revenue, i.configured_at,
  case when i.signing_secret_changed_at > clock_timestamp() - interval '24 hours' then i.former_signing_secret end as former_signing_secret`

async function find(db: Db, environment: Environment, id: string, lock: string): Promise<Config> {
  const { rows } = await db.query<Config>(
    `select ${CONFIG_COLUMNS} from integrations i where i.environment = $1 and i.id = $2 and i.deleted_at is null ${lock}`,
    [environment, id],
  )
  if (!rows[0]) throw notFound('integration')
  return rows[0]
}

export const getConfig = (db: Db, environment: Environment, id: string): Promise<Config> => find(db, environment, id, '')
export const lockConfig = (tx: Tx, environment: Environment, id: string): Promise<Config> => find(tx, environment, id, 'for no key update')

/** Every setting with its value or default, secrets in clear; what is unset is left out. */
export function openSettings(place: Sealing, { slug, settings, secrets, former_signing_secret: former }: Config): Record<string, unknown> {
  const open: Record<string, unknown> = {}
  for (const { name, secret, default: fallback } of providerOf(slug).settings) {
    const sealed = secrets[name]
    const value = secret ? sealed && openSecret(place, name, sealed) : (settings[name] ?? fallback)
    if (value !== undefined) open[name] = value
  }
  if (former !== null) open[FORMER_SIGNING_SECRET] = openSecret(place, SIGNING_SECRET, former)
  return open
}

/** By slug: the names under which events go out. Of two names for one event (by uid and by slug) the slug's counts. */
export function outgoingNames(mapping: Record<string, string>): Map<string, string> {
  const names = new Map<string, string>()
  for (const [type, name] of Object.entries(mapping)) {
    const slug = slugOf(type)
    if (slug !== null && (type === slug || !names.has(slug))) names.set(slug, name)
  }
  return names
}

export type Sealing = { secrets: Secrets; environment: Environment; integration: string }

/** What binds a sealed secret to its place. */
const aboutOf = ({ environment, integration }: Sealing, name: string) => `integration:${environment}:${integration}:${name}`

export const sealSecret = (place: Sealing, name: string, plain: string): string =>
  place.secrets.seal(plain, aboutOf(place, name)).toString('base64')

export const openSecret = (place: Sealing, name: string, sealed: string): string =>
  place.secrets.open(Buffer.from(sealed, 'base64'), aboutOf(place, name))
