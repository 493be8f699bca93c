import type { Tx } from '../../../store/connect.ts'
import { refuseMissingSegments } from '../../audience/segments/missing.ts'
import type { Environment } from '../../kernel/environment.ts'
import { conflict } from '../../kernel/refusal.ts'
import { type Change, unchanged } from '../remote-configurations/configuration.ts'
import { EXPERIMENT_COLUMNS, type Experiment, type ExperimentStatus, groupsOf, lockExperiment } from './experiment.ts'

const NEXT: Record<ExperimentStatus, readonly ExperimentStatus[]> = {
  draft: ['active'],
  active: ['paused', 'finished'],
  paused: ['active', 'finished'],
  finished: [],
}

/** Nothing changes when the experiment has the status already. */
export async function changeExperimentStatus(
  tx: Tx,
  environment: Environment,
  id: string,
  status: ExperimentStatus,
): Promise<Change<Experiment>> {
  const before = await lockExperiment(tx, environment, id)
  if (before.status === status) return unchanged(before)
  if (!NEXT[before.status].includes(status)) throw conflict(`an experiment that is ${before.status} cannot become ${status}`)
  if (status === 'active') await refuseUnready(tx, environment, before)
  const { rows } = await tx.query<Experiment>(
    `update experiments set status = $3, updated_at = t,
       started_at = case when $3 = 'active' then coalesce(started_at, t) else started_at end,
       finished_at = case when $3 = 'finished' then t else finished_at end
     from environment_now($1) t where environment = $1 and id = $2 returning ${EXPERIMENT_COLUMNS}`,
    [environment, id, status],
  )
  return { before, after: rows[0]! }
}

async function refuseUnready(tx: Tx, environment: Environment, { id, segmentation_conditions }: Experiment): Promise<void> {
  const groups = await groupsOf(tx, environment, id)
  if (groups.length < 2) throw conflict('an active experiment needs at least two groups')
  if (groups.filter(group => group.is_control).length !== 1) throw conflict('exactly one group must be the control')
  if (!groups.some(group => Number(group.weight) > 0)) throw conflict('the sum of the weights must be above 0')
  await refuseMissingSegments(tx, environment, segmentation_conditions)
}
