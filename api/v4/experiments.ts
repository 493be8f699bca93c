import { audit } from '../../domain/audit/record.ts'
import type { Experiment } from '../../domain/experiments/experiment.ts'
import { createExperiment, deleteExperiment, getExperiment, listExperiments } from '../../domain/experiments/experiment.ts'
import { changeExperimentStatus } from '../../domain/experiments/status.ts'
import { updateExperiment } from '../../domain/experiments/update.ts'
import { shownCondition } from '../../domain/segments/condition.ts'
import { inTransaction, onPool } from '../operation.ts'
import { cursorPage, restartedHeader } from '../pagination.ts'

const number = (decimal: string | null) => (decimal === null ? null : Number(decimal))

const shown = (row: Experiment) => ({
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
  return { body: cursorPage({ url: '/v4/experiments', rows, limit, item: shown }), headers: restartedHeader(restarted) }
})

export const v4CreateExperiment = inTransaction('v4CreateExperiment', async ({ body, environment, tx, trail }) => {
  const made = shown(await createExperiment(tx, environment, body))
  await audit(tx, trail, { resource: 'experiment', id: made.id, after: made })
  return { body: made }
})

export const v4GetExperiment = onPool('v4GetExperiment', async ({ path, environment, db }) => ({
  body: shown(await getExperiment(db, environment, path.experiment_id)),
}))

export const v4UpdateExperiment = inTransaction('v4UpdateExperiment', async ({ path, body, environment, tx, trail }) => {
  const { before, after } = await updateExperiment(tx, environment, path.experiment_id, body)
  if (before !== after) await audit(tx, trail, { resource: 'experiment', id: after.id, before: shown(before), after: shown(after) })
  return { body: shown(after) }
})

export const v4DeleteExperiment = inTransaction('v4DeleteExperiment', async ({ path, environment, tx, trail }) => {
  const before = await deleteExperiment(tx, environment, path.experiment_id)
  await audit(tx, trail, { resource: 'experiment', id: before.id, before: shown(before) })
  return { body: undefined }
})

export const v4ChangeExperimentStatus = inTransaction('v4ChangeExperimentStatus', async ({ path, body, environment, tx, trail }) => {
  const { before, after } = await changeExperimentStatus(tx, environment, path.experiment_id, body.status)
  if (before !== after) await audit(tx, trail, { resource: 'experiment', id: after.id, before: shown(before), after: shown(after) })
  return { body: shown(after) }
})
