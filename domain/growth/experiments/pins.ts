import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict } from '../../kernel/refusal.ts'
import { lockUsers } from '../../users/user.ts'
import { dropOtherPins } from '../remote-configurations/pins.ts'
import { type Experiment, lockExperiment } from './experiment.ts'
import { getGroup } from './groups.ts'

function refuseFinished({ status }: Experiment): void {
  if (status === 'finished') throw conflict('the experiment is finished')
}

/**
 * Pins the user to the group. The pin replaces an automatic assignment in this experiment and every other pin of its context key. `changed`
 * is false when nothing changes. `assigned_at` changes only with the group, because the user's facts count from that time on.
 */
export async function attachToExperiment(
  tx: Tx,
  environment: Environment,
  id: string,
  user: string,
  group: string,
): Promise<{ changed: boolean; before: string | null }> {
  const experiment = await lockExperiment(tx, environment, id, 'share')
  await getGroup(tx, environment, id, group, 'group_id')
  await lockUsers(tx, environment, [user])
  refuseFinished(experiment)
  const before = await lockAssignment(tx, environment, id, user)
  const isPinned = before?.pinned === true && before.group_id === group
  if (!isPinned)
    await tx.query(
      `insert into experiment_assignments as a (environment, experiment_id, user_id, group_id, assigned_at, pinned, pinned_at)
       select $1, $2, $3, $4, t, true, t from environment_now($1) t
       on conflict (environment, experiment_id, user_id) do update set group_id = excluded.group_id, pinned = true,
         pinned_at = excluded.pinned_at, assigned_at = case when a.group_id = excluded.group_id then a.assigned_at else excluded.assigned_at end`,
      [environment, id, user, group],
    )
  const dropped = await dropOtherPins(tx, environment, user, experiment.context_key, { experiment: id })
  return { changed: !isPinned || dropped, before: before?.group_id ?? null }
}

async function lockAssignment(tx: Tx, environment: Environment, experiment: string, user: string) {
  const { rows } = await tx.query<{ group_id: string; pinned: boolean }>(
    'select group_id, pinned from experiment_assignments where environment = $1 and experiment_id = $2 and user_id = $3 for update',
    [environment, experiment, user],
  )
  return rows[0]
}

/** Deletes the user's pin or assignment; returns its group, null when there was none. */
export async function detachFromExperiment(tx: Tx, environment: Environment, id: string, user: string): Promise<string | null> {
  const experiment = await lockExperiment(tx, environment, id, 'share')
  await lockUsers(tx, environment, [user])
  refuseFinished(experiment)
  const { rows } = await tx.query<{ group_id: string }>(
    'delete from experiment_assignments where environment = $1 and experiment_id = $2 and user_id = $3 returning group_id',
    [environment, id, user],
  )
  return rows[0]?.group_id ?? null
}
