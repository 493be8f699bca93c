import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { lockUsers } from '../../users/user.ts'
import { lockConfiguration, refuseArchived } from './lock.ts'

// Every transaction that changes pins of a user locks the user first, so that no two of them miss each other's pin.

/**
 * Deletes the user's pins of one context key except the pin to `except`; true when a pin was deleted. null and '' are the same key. Pins to
 * groups of finished experiments have no effect and stay, because they are part of the experiment's result.
 */
export async function dropOtherPins(
  tx: Tx,
  environment: Environment,
  user: string,
  contextKey: string | null,
  except: { configuration?: string; experiment?: string },
): Promise<boolean> {
  const configurations = await tx.query(
    `delete from configuration_pins p using remote_configurations c
     where p.environment = $1 and p.user_id = $2 and c.environment = $1 and c.id = p.config_id
       and coalesce(c.context_key, '') = $3 and p.config_id is distinct from $4`,
    [environment, user, contextKey ?? '', except.configuration ?? null],
  )
  const groups = await tx.query(
    `delete from experiment_assignments a using experiments e
     where a.environment = $1 and a.user_id = $2 and a.pinned and e.environment = $1 and e.id = a.experiment_id
       and e.context_key = $3 and e.status <> 'finished' and a.experiment_id is distinct from $4`,
    [environment, user, contextKey ?? '', except.experiment ?? null],
  )
  return configurations.rowCount! + groups.rowCount! > 0
}

/** Pins the user to a remote configuration and deletes every other pin of its context key; false when nothing changes. */
export async function attachToConfiguration(tx: Tx, environment: Environment, id: string, user: string): Promise<boolean> {
  const configuration = await lockConfiguration(tx, environment, id, 'share')
  await lockUsers(tx, environment, [user])
  refuseArchived(configuration)
  const pinned = await tx.query(
    `insert into configuration_pins (environment, user_id, config_id, pinned_at) values ($1, $2, $3, environment_now($1))
     on conflict do nothing`,
    [environment, user, id],
  )
  const dropped = await dropOtherPins(tx, environment, user, configuration.context_key, { configuration: id })
  return pinned.rowCount === 1 || dropped
}

/** Deletes the user's pin; false when there was none. */
export async function detachFromConfiguration(tx: Tx, environment: Environment, id: string, user: string): Promise<boolean> {
  await lockConfiguration(tx, environment, id, 'share')
  await lockUsers(tx, environment, [user])
  const { rowCount } = await tx.query('delete from configuration_pins where environment = $1 and user_id = $2 and config_id = $3', [
    environment,
    user,
    id,
  ])
  return rowCount === 1
}
