import { audit } from '../../domain/audit/record.ts'
import { providerOf } from '../../domain/integrations/catalogue.ts'
import { addressed, type ConfigChange, changeConfig, writeConfig } from '../../domain/integrations/change-config.ts'
import { type Config, getConfig, lockConfig } from '../../domain/integrations/config.ts'
import { assertUsable, mustAnswer } from '../../domain/integrations/start-test.ts'
import { type ConfigInput, validateConfig } from '../../domain/integrations/validate-config.ts'
import { conflict } from '../../domain/refusal.ts'
import type { Input } from '../../schemas/operation-types.ts'
import { type ApiDeps, NO_STORE, onPool, preparedTransaction } from '../operation.ts'
import { assertCanStart, open } from './integration-start.ts'

function shownSettings({ slug, settings, secrets }: Config): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const { name, secret, default: fallback } of providerOf(slug).settings) {
    if (secret) shown[`has_${name}`] = name in secrets
    else shown[name] = settings[name] ?? fallback ?? null
  }
  return shown
}

const integrationConfig = (config: Config) => ({
  object: 'integration_config' as const,
  url: `/v4/integrations/${config.id}/config`,
  integration_id: config.id,
  integration: config.slug as 'webhooks',
  settings: shownSettings(config),
  events: config.events,
  event_mapping: config.event_mapping,
  revenue: config.revenue,
  updated_at: config.configured_at,
})

export const v4GetIntegrationConfig = onPool('v4GetIntegrationConfig', async ({ path, environment, db }) => ({
  body: integrationConfig(await getConfig(db, environment, path.integration_id)),
  headers: NO_STORE,
}))

type Call = Pick<Input<'v4UpdateIntegrationConfig'>, 'body'> & { environment: number; deps: ApiDeps }

function changed({ body, environment, deps }: Call, old: Config): ConfigChange {
  const { settings, events = null, event_mapping = {}, revenue = 'price' } = body
  const input: ConfigInput = { settings, events, event_mapping, revenue }
  validateConfig(providerOf(old.slug), input, deps.probe.allowPrivateNetwork)
  return changeConfig({ secrets: deps.secrets, environment, integration: old.id }, old, input)
}

/** Whether the receiver of an active integration must answer again, because its address changed. */
const isReaddressed = (call: Call, old: Config, { opened }: ConfigChange) =>
  old.active === 1 && mustAnswer(old.slug) && addressed(open(call, old)) !== addressed(opened)

export const v4UpdateIntegrationConfig = preparedTransaction(
  'v4UpdateIntegrationConfig',
  async call => {
    const old = await getConfig(call.db, call.environment, call.path.integration_id)
    const change = changed(call, old)
    if (!isReaddressed(call, old, change)) return null
    await assertCanStart(call, change.after, change.opened)
    return addressed(change.opened)
  },
  async call => {
    const { path, environment, trail, tx, deps, prepared } = call
    const old = await lockConfig(tx, environment, path.integration_id)
    const change = changed(call, old)
    if (!change.isChanged) return { body: integrationConfig(old) }
    if (old.active === 1) assertUsable(deps.probe, old.slug, change.opened)
    // Only the probe before the transaction can ask the receiver, and it asked with other settings.
    if (isReaddressed(call, old, change) && prepared !== addressed(change.opened))
      throw conflict('the integration was changed meanwhile: repeat the request')
    const after = integrationConfig(await writeConfig(tx, environment, change))
    await audit(tx, trail, { resource: 'integration_config', id: old.id, before: integrationConfig(old), after })
    return { body: change.generated === null ? after : { ...after, generated_signing_secret: change.generated } }
  },
  NO_STORE,
)
