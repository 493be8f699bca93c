import { type ConfigChange, changeConfig, probedAddress, writeConfig } from '../../../domain/integrations/change-config.ts'
import { getConfig, type IntegrationConfig, lockConfig } from '../../../domain/integrations/config.ts'
import { assertUsable, isProbedBeforeStart } from '../../../domain/integrations/probe.ts'
import { providerOf } from '../../../domain/integrations/providers.ts'
import { type ConfigInput, validateConfig } from '../../../domain/integrations/validate-config.ts'
import { audit, type Trail } from '../../../domain/kernel/audit/record.ts'
import { conflict } from '../../../domain/kernel/refusal.ts'
import type { Input } from '../../../schemas/operation-types.ts'
import type { Tx } from '../../../store/connect.ts'
import { type ApiDeps, NO_STORE, onPool, planned, preparedTransaction } from '../../operation.ts'
import { assertCanStart, open, type ProbeCall, withoutSending } from './start.ts'

function shownSettings({ slug, settings, secrets }: IntegrationConfig): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const { name, secret, default: fallback } of providerOf(slug).settings) {
    if (secret) shown[`has_${name}`] = name in secrets
    else shown[name] = settings[name] ?? fallback ?? null
  }
  return shown
}

const integrationConfig = (config: IntegrationConfig) => ({
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

function changed({ body, environment, deps }: Call, old: IntegrationConfig): ConfigChange {
  const { settings, events = null, event_mapping = {}, revenue = 'price' } = body
  const input: ConfigInput = { settings, events, event_mapping, revenue }
  validateConfig(providerOf(old.slug), input, deps.probe.allowPrivateNetwork)
  return changeConfig({ secrets: deps.secrets, environment, integration: old.id }, old, input)
}

/** Whether the receiver of an active integration must answer again, because its address changed. */
const isReaddressed = (call: Call, old: IntegrationConfig, { opened }: ConfigChange) =>
  old.active === 1 && isProbedBeforeStart(old.slug) && probedAddress(open(call, old)) !== probedAddress(opened)

type Change = Call & Pick<Input<'v4UpdateIntegrationConfig'>, 'path'>

async function probeForConfig(call: Change & ProbeCall): Promise<string | null> {
  const old = await call.inTurn(db => getConfig(db, call.environment, call.path.integration_id))
  const change = changed(call, old)
  if (!isReaddressed(call, old, change)) return null
  await assertCanStart(call, change.after, change.opened)
  return probedAddress(change.opened)
}

async function updateConfig(call: Change & { trail: Trail; tx: Tx; prepared: string | null }) {
  const { path, environment, trail, tx, deps, prepared } = call
  const old = await lockConfig(tx, environment, path.integration_id)
  const change = changed(call, old)
  if (!change.isChanged) return { body: integrationConfig(old) }
  if (old.active === 1) assertUsable(deps.probe, old.slug, change.opened)
  // Only the probe before the transaction can call the receiver, and it did so with other settings.
  if (isReaddressed(call, old, change) && prepared !== probedAddress(change.opened))
    throw conflict('the integration was changed meanwhile: repeat the request')
  const after = integrationConfig(await writeConfig(tx, environment, change))
  await audit(tx, trail, { resource: 'integration_config', id: old.id, before: integrationConfig(old), after })
  return { body: change.generated === null ? after : { ...after, generated_signing_secret: change.generated } }
}

export const v4UpdateIntegrationConfig = planned(
  preparedTransaction('v4UpdateIntegrationConfig', probeForConfig, updateConfig, NO_STORE),
  async call => {
    const quiet = withoutSending(call)
    await updateConfig({ ...quiet, prepared: await probeForConfig(quiet) })
  },
)
