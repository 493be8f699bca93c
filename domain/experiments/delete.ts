import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { dropVariant } from '../offerings/variant.ts'
import { conflict } from '../refusal.ts'
import { type Experiment, lockExperiment } from './experiment.ts'
import { groupsOf } from './find.ts'

/** Groups and assignments go by their foreign keys, the groups' offerings here. */
export async function deleteExperiment(tx: Tx, environment: Environment, id: string): Promise<Experiment> {
  const experiment = await lockExperiment(tx, environment, id)
  if (experiment.status === 'active' || experiment.status === 'paused')
    throw conflict(`the experiment is ${experiment.status}: finish it first`)
  for (const group of await groupsOf(tx, environment, id)) if (group.offering_uid !== null) await dropVariant(tx, environment, group.id)
  await tx.query('delete from experiments where environment = $1 and id = $2', [environment, id])
  return experiment
}
