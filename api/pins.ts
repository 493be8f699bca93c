import { attachToExperiment, detachFromExperiment } from '../domain/growth/experiments/pins.ts'
import { attachToConfiguration, detachFromConfiguration } from '../domain/growth/remote-configurations/pins.ts'
import { audit, type Trail } from '../domain/kernel/audit/record.ts'
import type { Tx } from '../store/connect.ts'

// The changes of a user's pins with their entries in the audit log. A request that changes nothing leaves no entry.

type PinTrail = Trail & { environment: number }
/** A remote configuration or an experiment, and a user. */
type Pin = { id: string; user: string }

export async function pinConfiguration(tx: Tx, trail: PinTrail, { id, user }: Pin): Promise<void> {
  if (await attachToConfiguration(tx, trail.environment, id, user))
    await audit(tx, trail, { resource: 'remote_configuration', id, user, after: { config_id: id, user_id: user } })
}

export async function unpinConfiguration(tx: Tx, trail: PinTrail, { id, user }: Pin): Promise<void> {
  if (await detachFromConfiguration(tx, trail.environment, id, user))
    await audit(tx, trail, { resource: 'remote_configuration', id, user, before: { config_id: id, user_id: user } })
}

export async function pinExperiment(tx: Tx, trail: PinTrail, { id, user }: Pin, group_id: string): Promise<void> {
  const { changed, before } = await attachToExperiment(tx, trail.environment, id, user, group_id)
  if (!changed) return
  const change = { before: before === null ? null : { user_id: user, group_id: before }, after: { user_id: user, group_id } }
  await audit(tx, trail, { resource: 'experiment', id, user, ...change })
}

export async function unpinExperiment(tx: Tx, trail: PinTrail, { id, user }: Pin): Promise<void> {
  const group_id = await detachFromExperiment(tx, trail.environment, id, user)
  if (group_id !== null) await audit(tx, trail, { resource: 'experiment', id, user, before: { user_id: user, group_id } })
}
