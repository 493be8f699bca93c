import { type Environment, type EnvironmentKind, now } from '../../domain/environment.ts'
import { addressed } from '../../domain/integrations/change-config.ts'
import { type Config, getConfig, openSettings, outgoingNames } from '../../domain/integrations/config.ts'
import { sampleOccurrence } from '../../domain/integrations/sample.ts'
import type { Sample } from '../../domain/integrations/start-test.ts'
import { assertAnswers, assertUsable, mustAnswer } from '../../domain/integrations/start-test.ts'
import { conflict } from '../../domain/refusal.ts'
import type { Db, Tx } from '../../store/connect.ts'
import type { ApiDeps } from '../operation.ts'

export type Asker = { environment: Environment; environmentKind: EnvironmentKind; deps: ApiDeps; db: Db }

/** What the receiver would get of an event now. */
export async function sampleOf({ environment, environmentKind, db }: Asker, config: Config, opened: Record<string, unknown>, name: string) {
  const at = await now(db, environment)
  const outgoingName = outgoingNames(config.event_mapping).get(name) ?? name
  const occurrence = sampleOccurrence({ environment: environmentKind, name, outgoingName, revenue: config.revenue, at })
  return { id: config.id, slug: config.slug, settings: opened, occurrence } satisfies Sample
}

/** What an integration with these settings must pass to be active. Throws the refusals of activation. */
export async function assertCanStart(asker: Asker, config: Config, opened: Record<string, unknown>): Promise<void> {
  const { probe } = asker.deps
  assertUsable(probe, config.slug, opened)
  if (mustAnswer(config.slug)) await assertAnswers(probe, await sampleOf(asker, config, opened, 'trial_started'))
}

export const open = (asker: Pick<Asker, 'deps' | 'environment'>, config: Config) =>
  openSettings({ secrets: asker.deps.secrets, environment: asker.environment, integration: config.id }, config)

/** Asks before the transaction; gives what was asked with, null when it is active already. */
export async function askBeforeStart(asker: Asker, id: string): Promise<string | null> {
  const config = await getConfig(asker.db, asker.environment, id)
  if (config.active === 1) return null
  const opened = open(asker, config)
  await assertCanStart(asker, config, opened)
  return addressed(opened)
}

/** Once it is locked: whether what was asked before still holds. */
export async function assertAsked(call: Pick<Asker, 'deps' | 'environment'> & { tx: Tx }, id: string, asked: string | null): Promise<void> {
  const config = await getConfig(call.tx, call.environment, id)
  const opened = open(call, config)
  assertUsable(call.deps.probe, config.slug, opened)
  if (asked !== addressed(opened)) throw conflict('the integration was changed meanwhile: repeat the request')
}
