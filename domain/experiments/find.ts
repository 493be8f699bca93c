import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { notFound } from '../refusal.ts'
import { EXPERIMENT_COLUMNS, type Experiment, GROUP_COLUMNS, type Group } from './experiment.ts'

export async function getExperiment(db: Db, environment: Environment, id: string): Promise<Experiment> {
  const { rows } = await db.query<Experiment>({
    name: 'get-experiment',
    text: `select ${EXPERIMENT_COLUMNS} from experiments where environment = $1 and id = $2`,
    values: [environment, id],
  })
  if (!rows[0]) throw notFound('experiment')
  return rows[0]
}

/** In the order of creation. */
export async function listGroups(db: Db, environment: Environment, experiment: string): Promise<Group[]> {
  const known = await db.query('select 1 from experiments where environment = $1 and id = $2', [environment, experiment])
  if (known.rowCount === 0) throw notFound('experiment')
  return groupsOf(db, environment, experiment)
}

export async function groupsOf(db: Db, environment: Environment, experiment: string): Promise<Group[]> {
  const { rows } = await db.query<Group>(
    `select ${GROUP_COLUMNS} from experiment_groups where environment = $1 and experiment_id = $2 order by n`,
    [environment, experiment],
  )
  return rows
}
