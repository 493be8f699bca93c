import { shownCondition } from '../../../domain/audience/segments/condition.ts'
import {
  createExperiment,
  deleteExperiment,
  type Experiment,
  type ExperimentGroup,
  getExperiment,
  listExperiments,
  listGroups,
} from '../../../domain/growth/experiments/experiment.ts'
import { createGroup, deleteGroup, updateGroup } from '../../../domain/growth/experiments/groups.ts'
import { type AssignedUser, listAssignedUsers } from '../../../domain/growth/experiments/people.ts'
import { changeExperimentStatus } from '../../../domain/growth/experiments/status.ts'
import { updateExperiment } from '../../../domain/growth/experiments/update.ts'
import { audit } from '../../../domain/kernel/audit/record.ts'
import { permits } from '../../../domain/projects/authority.ts'
import { inTransaction, onPool } from '../../operation.ts'
import { cursorPage, fullList, restartedHeader } from '../../pagination.ts'
import { pinExperiment, unpinExperiment } from '../../pins.ts'

const number = (decimal: string | null) => (decimal === null ? null : Number(decimal))

const experiment = (row: Experiment) => ({
  object: 'experiment' as const,
  id: row.id,
  url: `/v4/experiments/${row.id}`,
  name: row.name,
  alias_id: row.alias_id,
  description: row.description,
  status: row.status,
  started_at: row.started_at,
  finished_at: row.finished_at,
  segment_percent: number(row.segment_percent),
  primary_metric: row.primary_metric,
  goal_value: number(row.goal_value),
  goal_direction: row.goal_direction,
  context_key: row.context_key,
  is_context_specific: row.is_context_specific,
  ...(row.segmentation_conditions.length > 0 && { segmentation_conditions: row.segmentation_conditions.map(shownCondition) }),
  created_at: row.created_at,
  updated_at: row.updated_at,
})

export const v4ListExperiments = onPool('v4ListExperiments', async ({ query: { limit, starting_after }, environment, db }) => {
  const { rows, restarted } = await listExperiments(db, environment, limit, starting_after)
  return { body: cursorPage({ url: '/v4/experiments', rows, limit, item: experiment }), headers: restartedHeader(restarted) }
})

export const v4CreateExperiment = inTransaction('v4CreateExperiment', async ({ body, environment, tx, trail }) => {
  const made = experiment(await createExperiment(tx, environment, body))
  await audit(tx, trail, { resource: 'experiment', id: made.id, after: made })
  return { body: made }
})

export const v4GetExperiment = onPool('v4GetExperiment', async ({ path, environment, db }) => ({
  body: experiment(await getExperiment(db, environment, path.experiment_id)),
}))

export const v4UpdateExperiment = inTransaction('v4UpdateExperiment', async ({ path, body, environment, tx, trail }) => {
  const { before, after } = await updateExperiment(tx, environment, path.experiment_id, body)
  if (before !== after)
    await audit(tx, trail, { resource: 'experiment', id: after.id, before: experiment(before), after: experiment(after) })
  return { body: experiment(after) }
})

export const v4DeleteExperiment = inTransaction('v4DeleteExperiment', async ({ path, environment, tx, trail }) => {
  const before = await deleteExperiment(tx, environment, path.experiment_id)
  await audit(tx, trail, { resource: 'experiment', id: before.id, before: experiment(before) })
  return { body: undefined }
})

export const v4ChangeExperimentStatus = inTransaction('v4ChangeExperimentStatus', async ({ path, body, environment, tx, trail }) => {
  const { before, after } = await changeExperimentStatus(tx, environment, path.experiment_id, body.status)
  if (before !== after)
    await audit(tx, trail, { resource: 'experiment', id: after.id, before: experiment(before), after: experiment(after) })
  return { body: experiment(after) }
})

const group = (row: ExperimentGroup) => ({
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

export const v4ListExperimentGroups = onPool('v4ListExperimentGroups', async ({ path: { experiment_id }, principal, environment, db }) => {
  const groups = await listGroups(db, environment, experiment_id)
  // Both are of another resource.
  const isNamed = permits(principal.scopes, 'remote_configurations:read')
  const isFilled = permits(principal.scopes, 'offerings:read')
  const item = ({ share, configuration_name, offering_product_ids, ...row }: (typeof groups)[number]) => ({
    ...group(row),
    share,
    remote_config_name: isNamed ? configuration_name : null,
    offering_product_ids: isFilled ? offering_product_ids : null,
  })
  return { body: fullList(`/v4/experiments/${experiment_id}/groups`, groups.map(item)) }
})

export const v4CreateExperimentGroup = inTransaction('v4CreateExperimentGroup', async ({ path, body, environment, tx, trail }) => {
  const made = group(await createGroup(tx, environment, path.experiment_id, body))
  await audit(tx, trail, { resource: 'experiment_group', id: made.id, after: made })
  return { body: made }
})

export const v4UpdateExperimentGroup = inTransaction('v4UpdateExperimentGroup', async ({ path, body, environment, tx, trail }) => {
  const { before, after } = await updateGroup(tx, environment, path.experiment_id, path.group_id, body)
  if (before !== after) await audit(tx, trail, { resource: 'experiment_group', id: after.id, before: group(before), after: group(after) })
  return { body: group(after) }
})

export const v4DeleteExperimentGroup = inTransaction('v4DeleteExperimentGroup', async ({ path, environment, tx, trail }) => {
  const before = await deleteGroup(tx, environment, path.experiment_id, path.group_id)
  await audit(tx, trail, { resource: 'experiment_group', id: before.id, before: group(before) })
  return { body: undefined }
})

const assigned = ({ id, ...rest }: AssignedUser) => ({ object: 'experiment_user' as const, id, ...rest })

export const v4ListExperimentUsers = onPool('v4ListExperimentUsers', async ({ path: { experiment_id }, query, environment, db }) => {
  const { limit, starting_after: after, pinned, 'filter[group_id]': group } = query
  const { rows, restarted } = await listAssignedUsers(db, environment, experiment_id, { limit, after, group, pinned })
  const url = `/v4/experiments/${experiment_id}/users`
  return { body: cursorPage({ url, rows, limit, item: assigned }), headers: restartedHeader(restarted) }
})

export const v4AttachUserToExperiment = inTransaction('v4AttachUserToExperiment', async ({ path, body, tx, trail }) => {
  await pinExperiment(tx, trail, { id: path.experiment_id, user: path.user_id }, body.group_id)
  return { body: undefined }
})

export const v4DetachUserFromExperiment = inTransaction('v4DetachUserFromExperiment', async ({ path, tx, trail }) => {
  await unpinExperiment(tx, trail, { id: path.experiment_id, user: path.user_id })
  return { body: undefined }
})
