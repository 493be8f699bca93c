import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../store/connect.ts'
import { signingSecret } from '../../store/ids.ts'
import type { Environment } from '../kernel/environment.ts'
import { APPLE_ADS_SLUG, readSoon } from './apple-ads/read-runs.ts'
import { type IntegrationConfig, openSecret, openSettings, type Sealing, SIGNING_SECRET, sealSecret } from './config.ts'
import { movesOrigin } from './origins.ts'
import { providerOf } from './providers.ts'
import type { ConfigInput } from './validate-config.ts'

/** `opened`: the settings as a destination receives them. `generated`: the signing secret, if this change generated one. */
export type ConfigChange = {
  after: IntegrationConfig
  opened: Record<string, unknown>
  generated: string | null
  /** The signing secret that this change replaces, sealed. */
  former: string | null
  /** Requests go to another origin, which must get no signature under a former signing secret. */
  isMoved: boolean
  /** Of Apple Ads: the settings are those of other campaigns. */
  isOtherAccount: boolean
  isChanged: boolean
}

/** An absent secret stays, null removes it. An equal secret keeps its sealed value, so a repeated request changes nothing. */
function nextSecrets(sealing: Sealing, old: IntegrationConfig, given: Record<string, unknown>): Record<string, string> {
  const next: Record<string, string> = {}
  for (const { name, secret } of providerOf(old.slug).settings) {
    if (!secret) continue
    const value = given[name]
    const sealed = old.secrets[name]
    if (value === null) continue
    if (value === undefined || (sealed !== undefined && openSecret(sealing, name, sealed) === value)) {
      if (sealed !== undefined) next[name] = sealed
    } else next[name] = sealSecret(sealing, name, value as string)
  }
  return next
}

/** What decides whose campaigns of Apple Ads are read. Another key of the same account changes nothing. */
const ACCOUNT = ['client_id', 'team_id', 'org_id', 'base_url']

/** Applies the input to the configuration. */
export function changeConfig(sealing: Sealing, old: IntegrationConfig, input: ConfigInput): ConfigChange {
  const provider = providerOf(old.slug)
  const secrets = nextSecrets(sealing, old, input.settings)
  // Every webhook is signed, so a webhook without a secret gets one.
  const generated = provider.settings.some(({ name }) => name === SIGNING_SECRET) && !secrets[SIGNING_SECRET] ? signingSecret() : null
  if (generated !== null) secrets[SIGNING_SECRET] = sealSecret(sealing, SIGNING_SECRET, generated)
  const plain = provider.settings.filter(({ name, secret }) => !secret && (input.settings[name] ?? null) !== null)
  const settings = Object.fromEntries(plain.map(({ name }) => [name, input.settings[name]]))
  const isMoved = movesOrigin(old, input.settings, {
    before: openSettings(sealing, old),
    after: openSettings(sealing, { ...old, settings, secrets }),
  })
  const replaced = old.secrets[SIGNING_SECRET]
  const former = !isMoved && replaced !== undefined && replaced !== secrets[SIGNING_SECRET] ? replaced : null
  const { events, event_mapping, revenue } = input
  const former_signing_secret = isMoved ? null : (former ?? old.former_signing_secret)
  const after = { ...old, settings, secrets, events, event_mapping, revenue, former_signing_secret }
  const isChanged = old.configured_at === null || !isDeepStrictEqual(after, old)
  const isOtherAccount = old.slug === APPLE_ADS_SLUG && ACCOUNT.some(name => old.settings[name] !== settings[name])
  return { after, opened: openSettings(sealing, after), generated, former, isMoved, isOtherAccount, isChanged }
}

/** The settings that decide whether a probe succeeds: of a webhook, and of e-mail. */
const PROBED = ['url', 'sandbox_url', 'authorization_token', 'host', 'port', 'secure', 'username', 'password', 'from', 'recipients']

/** Equal for two configurations that call the same address in the same way: a probe of one then counts for the other. */
export const probedAddress = (settings: Record<string, unknown>): string => JSON.stringify(PROBED.map(name => settings[name]))

/** Stores the change and returns the configuration with its time. The caller has locked the row. */
export async function writeConfig(tx: Tx, environment: Environment, change: ConfigChange): Promise<IntegrationConfig> {
  const { after, former, isMoved, isOtherAccount } = change
  const { rows } = await tx.query<{ configured_at: string }>(
    `update integrations set settings = $3, secrets = $4, events = $5, event_mapping = $6, revenue = $7,
       configured_at = date_trunc('second', environment_now($1)), former_signing_secret = case when $9 then null else coalesce($8, former_signing_secret) end,
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
      isMoved,
    ],
  )
  // The next settings are the next credentials.
  if (after.slug === APPLE_ADS_SLUG) await readSoon(tx, environment, after.id, { forgets: isOtherAccount })
  return { ...after, configured_at: rows[0]!.configured_at }
}
