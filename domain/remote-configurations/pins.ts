import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { lockConfiguration, refuseArchived } from './lock.ts'

/** Whoever changes pins of a user holds the user, so that two attachments cannot each miss the other's pin. */
export async function lockUser(tx: Tx, environment: Environment, user: string): Promise<void> {
  const { rowCount } = await tx.query('select 1 from users where environment = $1 and id = $2 for no key update', [environment, user])
  if (rowCount === 0) throw notFound('user')
}

/**
 * Takes away the user's pins of one context key except the one named; true when there was any. null and '' are the same key. Pins to
 * groups of finished experiments have no effect and stay: they are part of its result.
 */
export async function dropOtherPins(
  tx: Tx,
  environment: Environment,
  user: string,
  contextKey: string | null,
  kept: { configuration?: string; experiment?: string },
): Promise<boolean> {
  const configurations = await tx.query(
    `delete from configuration_pins p using remote_configurations c
     where p.environment = $1 and p.user_id = $2 and c.environment = $1 and c.id = p.config_id
       and coalesce(c.context_key, '') = $3 and p.config_id is distinct from $4`,
    [environment, user, contextKey ?? '', kept.configuration ?? null],
  )
  const groups = await tx.query(
    `delete from experiment_assignments a using experiments e
     where a.environment = $1 and a.user_id = $2 and a.pinned and e.environment = $1 and e.id = a.experiment_id
       and e.context_key = $3 and e.status <> 'finished' and a.experiment_id is distinct from $4`,
    [environment, user, contextKey ?? '', kept.experiment ?? null],
  )
  return configurations.rowCount! + groups.rowCount! > 0
}

/** Pins the user, in place of every other pin of the context key; false when that was so already. */
export async function attachToConfiguration(tx: Tx, environment: Environment, id: string, user: string): Promise<boolean> {
  const configuration = await lockConfiguration(tx, environment, id, 'share')
  await lockUser(tx, environment, user)
  refuseArchived(configuration)
  const pinned = await tx.query(
    `insert into configuration_pins (environment, user_id, config_id, pinned_at) values ($1, $2, $3, environment_now($1))
     on conflict do nothing`,
    [environment, user, id],
  )
  const dropped = await dropOtherPins(tx, environment, user, configuration.context_key, { configuration: id })
  return pinned.rowCount === 1 || dropped
}

/** False when there was no pin. */
export async function detachFromConfiguration(tx: Tx, environment: Environment, id: string, user: string): Promise<boolean> {
  await lockConfiguration(tx, environment, id, 'share')
  await lockUser(tx, environment, user)
  const { rowCount } = await tx.query('delete from configuration_pins where environment = $1 and user_id = $2 and config_id = $3', [
    environment,
    user,
    id,
  ])
  return rowCount === 1
}
