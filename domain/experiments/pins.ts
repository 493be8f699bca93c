import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { conflict } from '../refusal.ts'
import { dropOtherPins, lockUser } from '../remote-configurations/pins.ts'
import { type Experiment, lockExperiment } from './experiment.ts'
import { getGroup } from './groups.ts'

function refuseFinished({ status }: Experiment): void {
  if (status === 'finished') throw conflict('the experiment is finished')
}

/**
 * Pins the user to the group, in place of an automatic assignment in this experiment and of every other pin of its context key; false
 * when that was so already. `assigned_at` moves only with the group, since the user's facts count from then on.
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
  await lockUser(tx, environment, user)
  refuseFinished(experiment)
  const { rows } = await tx.query<{ group_id: string; pinned: boolean }>(
    'select group_id, pinned from experiment_assignments where environment = $1 and experiment_id = $2 and user_id = $3 for update',
    [environment, id, user],
  )
  const before = rows[0]
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

/** Takes away the pin or the assignment; the group it was to, null when there was none. */
export async function detachFromExperiment(tx: Tx, environment: Environment, id: string, user: string): Promise<string | null> {
  const experiment = await lockExperiment(tx, environment, id, 'share')
  await lockUser(tx, environment, user)
  refuseFinished(experiment)
  const { rows } = await tx.query<{ group_id: string }>(
    'delete from experiment_assignments where environment = $1 and experiment_id = $2 and user_id = $3 returning group_id',
    [environment, id, user],
  )
  return rows[0]?.group_id ?? null
}
