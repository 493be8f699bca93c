import { audit } from '../../domain/audit/record.ts'
import type { Group } from '../../domain/experiments/experiment.ts'
import { listGroups } from '../../domain/experiments/experiment.ts'
import { createGroup, deleteGroup, updateGroup } from '../../domain/experiments/groups.ts'
import { attachToExperiment, detachFromExperiment } from '../../domain/experiments/pins.ts'
import { inTransaction, onPool } from '../operation.ts'
import { fullList } from '../pagination.ts'

const shown = (row: Group) => ({
  object: 'experiment_group' as const,
  id: row.id,
  url: `/v4/experiments/${row.experiment_id}/groups/${row.id}`,
  name: row.name,
  is_control: row.is_control,
  weight: Number(row.weight),
  remote_config_uid: row.remote_config_uid,
  offering_uid: row.offering_uid,
  offering_tag: row.offering_tag,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

export const v4ListExperimentGroups = onPool('v4ListExperimentGroups', async ({ path: { experiment_id }, environment, db }) => {
  const groups = await listGroups(db, environment, experiment_id)
  return { body: fullList(`/v4/experiments/${experiment_id}/groups`, groups.map(shown)) }
})

export const v4CreateExperimentGroup = inTransaction('v4CreateExperimentGroup', async ({ path, body, environment, tx, trail }) => {
  const made = shown(await createGroup(tx, environment, path.experiment_id, body))
  await audit(tx, trail, { resource: 'experiment_group', id: made.id, after: made })
  return { body: made }
})

export const v4UpdateExperimentGroup = inTransaction('v4UpdateExperimentGroup', async ({ path, body, environment, tx, trail }) => {
  const { before, after } = await updateGroup(tx, environment, path.experiment_id, path.group_id, body)
  if (before !== after) await audit(tx, trail, { resource: 'experiment_group', id: after.id, before: shown(before), after: shown(after) })
  return { body: shown(after) }
})

export const v4DeleteExperimentGroup = inTransaction('v4DeleteExperimentGroup', async ({ path, environment, tx, trail }) => {
  const before = await deleteGroup(tx, environment, path.experiment_id, path.group_id)
  await audit(tx, trail, { resource: 'experiment_group', id: before.id, before: shown(before) })
  return { body: undefined }
})

export const v4AttachUserToExperiment = inTransaction(
  'v4AttachUserToExperiment',
  async ({ path: { experiment_id, user_id }, body: { group_id }, environment, tx, trail }) => {
    const { changed, before } = await attachToExperiment(tx, environment, experiment_id, user_id, group_id)
    if (changed)
      await audit(tx, trail, {
        resource: 'experiment',
        id: experiment_id,
        user: user_id,
        before: before === null ? null : { user_id, group_id: before },
        after: { user_id, group_id },
      })
    return { body: undefined }
  },
)

export const v4DetachUserFromExperiment = inTransaction(
  'v4DetachUserFromExperiment',
  async ({ path: { experiment_id, user_id }, environment, tx, trail }) => {
    const group_id = await detachFromExperiment(tx, environment, experiment_id, user_id)
    if (group_id !== null)
      await audit(tx, trail, { resource: 'experiment', id: experiment_id, user: user_id, before: { user_id, group_id } })
    return { body: undefined }
  },
)
