import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../store/connect.ts'
import { signingSecret } from '../../store/ids.ts'
import type { Environment } from '../environment.ts'
import { providerOf } from './catalogue.ts'
import { type Config, openSecret, openSettings, type Sealing, SIGNING_SECRET, sealSecret } from './config.ts'
import type { ConfigInput } from './validate-config.ts'

/** `opened`: the settings as whoever sends gets them; `generated`: the signing secret that was made. */
export type ConfigChange = {
  after: Config
  opened: Record<string, unknown>
  generated: string | null
  /** The signing secret that another one has taken the place of, sealed. */
  former: string | null
  isChanged: boolean
}

/** Secrets that are left out stay, null removes one; an equal one is left as it is, so that a repeat changes nothing. */
function nextSecrets(place: Sealing, old: Config, given: Record<string, unknown>): Record<string, string> {
  const next: Record<string, string> = {}
  for (const { name, secret } of providerOf(old.slug).settings) {
    if (!secret) continue
    const value = given[name]
    const sealed = old.secrets[name]
    if (value === null) continue
    if (value === undefined || (sealed !== undefined && openSecret(place, name, sealed) === value)) {
      if (sealed !== undefined) next[name] = sealed
    } else next[name] = sealSecret(place, name, value as string)
  }
  return next
}

/** What the input makes of the configuration. */
export function changeConfig(place: Sealing, old: Config, input: ConfigInput): ConfigChange {
  const provider = providerOf(old.slug)
  const secrets = nextSecrets(place, old, input.settings)
  // Every webhook is signed: one that has no secret gets one.
  const generated = provider.settings.some(({ name }) => name === SIGNING_SECRET) && !secrets[SIGNING_SECRET] ? signingSecret() : null
  if (generated !== null) secrets[SIGNING_SECRET] = sealSecret(place, SIGNING_SECRET, generated)
  const plain = provider.settings.filter(({ name, secret }) => !secret && (input.settings[name] ?? null) !== null)
  const settings = Object.fromEntries(plain.map(({ name }) => [name, input.settings[name]]))
  const replaced = old.secrets[SIGNING_SECRET]
  const former = replaced !== undefined && replaced !== secrets[SIGNING_SECRET] ? replaced : null
  const { events, event_mapping, revenue } = input
  const after = { ...old, settings, secrets, events, event_mapping, revenue, former_signing_secret: former ?? old.former_signing_secret }
  const isChanged = old.configured_at === null || !isDeepStrictEqual(after, old)
  return { after, opened: openSettings(place, after), generated, former, isChanged }
}

/** Of two changes with the same name a probe of one is as good as of the other. */
export const addressed = ({ url, sandbox_url, authorization_token }: Record<string, unknown>): string =>
  JSON.stringify([url, sandbox_url, authorization_token])

/** Stores it; gives it with its time. The row is locked. */
export async function writeConfig(tx: Tx, environment: Environment, { after, former }: ConfigChange): Promise<Config> {
  const { rows } = await tx.query<{ configured_at: string }>(
    `update integrations set settings = $3, secrets = $4, events = $5, event_mapping = $6, revenue = $7,
       configured_at = date_trunc('second', environment_now($1)), former_signing_secret = coalesce($8, former_signing_secret),
       signing_secret_changed_at = case when $8::text is null then signing_secret_changed_at else clock_timestamp() end
     where environment = $1 and id = $2 returning configured_at`,
    [
      environment,
      after.id,
      JSON.stringify(after.settings),
      JSON.stringify(after.secrets),
      after.events === null ? null : JSON.stringify(after.events),
      JSON.stringify(after.event_mapping),
      after.revenue,
      former,
    ],
  )
  return { ...after, configured_at: rows[0]!.configured_at }
}
