import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { EXPERIMENT_COLUMNS, type Experiment } from './experiment.ts'

/** Newest first, after the row that the cursor names; `restarted` when it names none. One row more than `limit` when there are more. */
export async function listExperiments(
  db: Db,
  environment: Environment,
  limit: number,
  after: string | undefined,
): Promise<{ rows: Experiment[]; restarted: boolean }> {
  const known =
    after === undefined ? undefined : await db.query('select 1 from experiments where environment = $1 and id = $2', [environment, after])
  const restarted = known?.rowCount === 0
  const { rows } = await db.query<Experiment>(
    `select ${EXPERIMENT_COLUMNS} from experiments where environment = $1
     and ($3::text is null or (created_at, id) < (select created_at, id from experiments where environment = $1 and id = $3))
     order by created_at desc, id desc limit $2`,
    [environment, limit + 1, restarted ? null : (after ?? null)],
  )
  return { rows, restarted }
}
