import { probedAddress } from '../../../domain/integrations/change-config.ts'
import { getConfig, type IntegrationConfig, openSettings, outgoingNames } from '../../../domain/integrations/config.ts'
import type { ProbeRequest, ProbeResult } from '../../../domain/integrations/probe.ts'
import { assertProbeSucceeds, assertUsable, countTest, isProbedBeforeStart } from '../../../domain/integrations/probe.ts'
import { sampleEvent } from '../../../domain/integrations/sample-event.ts'
import { audit, type Trail } from '../../../domain/kernel/audit/record.ts'
import { type Environment, type EnvironmentKind, now } from '../../../domain/kernel/environment.ts'
import { conflict } from '../../../domain/kernel/refusal.ts'
import type { Db, Tx } from '../../../store/connect.ts'
import { Problem } from '../../errors.ts'
import type { ApiDeps } from '../../operation.ts'

/** Runs statements: in turns of their own, or in a transaction. */
type Statements = <T>(work: (db: Db) => Promise<T>) => Promise<T>
export type ProbeCall = { environment: Environment; environmentKind: EnvironmentKind; deps: ApiDeps; inTurn: Statements }

const TAKEN: ProbeResult = { ok: true, http_status: 200, duration_ms: 0, error: null }

/** The call in a dry run: its statements run in the transaction that is undone, and a test is noted and not sent. Its receiver is taken to accept it. */
export function withoutSending<Call extends { deps: ApiDeps; tx: Tx; trail: Trail }>(call: Call): Call & { inTurn: Statements } {
  const { deps, tx, trail } = call
  async function tryIntegration({ id, slug, occurrence }: ProbeRequest): Promise<ProbeResult> {
    await audit(tx, trail, { resource: 'integration_test', id, after: { integration: slug, event: occurrence.name }, isSend: true })
    return TAKEN
  }
  return { ...call, inTurn: work => work(tx), deps: { ...deps, probe: { ...deps.probe, tryIntegration } } }
}

/** A sample event as the receiver of this integration would get it now. */
export async function sampleOf(
  { environment, environmentKind, inTurn }: ProbeCall,
  config: IntegrationConfig,
  opened: Record<string, unknown>,
  name: string,
) {
  const at = await inTurn(db => now(db, environment))
  const outgoingName = outgoingNames(config.event_mapping).get(name) ?? name
  const occurrence = sampleEvent({ environment: environmentKind, name, outgoingName, revenue: config.revenue, at })
  return { id: config.id, slug: config.slug, settings: opened, occurrence } satisfies ProbeRequest
}

/**
 * Counts a request to the receiver. Throws 429 when the limit is exceeded: every start or change of an integration also sends requests to
 * another server.
 */
export async function assertMayTest(
  { inTurn, environment }: Pick<ProbeCall, 'inTurn' | 'environment'>,
  id: string,
  of?: Parameters<typeof countTest>[3],
): Promise<void> {
  const wait = await inTurn(db => countTest(db, environment, id, of))
  if (wait !== null)
    throw new Problem('rate_limit_exceeded', `ten tests a minute; try again in ${wait} s`, { headers: { 'Retry-After': String(wait) } })
}

/** Throws the refusals of activation unless an integration with these settings may be active. */
export async function assertCanStart(call: ProbeCall, config: IntegrationConfig, opened: Record<string, unknown>): Promise<void> {
  const { probe } = call.deps
  assertUsable(probe, config.slug, opened)
  if (!isProbedBeforeStart(config.slug)) return
  await assertMayTest(call, config.id)
  await assertProbeSucceeds(probe, await sampleOf(call, config, opened, 'trial_started'))
}

export const open = (call: Pick<ProbeCall, 'deps' | 'environment'>, config: IntegrationConfig) =>
  openSettings({ secrets: call.deps.secrets, environment: call.environment, integration: config.id }, config)

/** Probes the receiver before the transaction. Returns the probed address, null when the integration is already active. */
export async function probeBeforeStart(call: ProbeCall, id: string): Promise<string | null> {
  const config = await call.inTurn(db => getConfig(db, call.environment, id))
  if (config.active === 1) return null
  const opened = open(call, config)
  await assertCanStart(call, config, opened)
  return probedAddress(opened)
}

/** With the integration locked: throws unless its address is still the probed one. */
export async function assertProbed(
  call: Pick<ProbeCall, 'deps' | 'environment'> & { tx: Tx },
  id: string,
  probed: string | null,
): Promise<void> {
  const config = await getConfig(call.tx, call.environment, id)
  const opened = open(call, config)
  assertUsable(call.deps.probe, config.slug, opened)
  if (probed !== probedAddress(opened)) throw conflict('the integration was changed meanwhile: repeat the request')
}
