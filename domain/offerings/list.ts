import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { OFFERING_COLUMNS, type Offering } from './offering.ts'

/** Oldest first, after the row that the cursor names; `restarted` when it names none. One row more than `limit` when there are more. */
export async function listOfferings(
  db: Db,
  environment: Environment,
  limit: number,
  after: string | undefined,
): Promise<{ rows: Offering[]; restarted: boolean }> {
  const known =
    after === undefined
      ? undefined
      : await db.query('select 1 from offerings where environment = $1 and id = $2 and variant_of is null', [environment, after])
  const restarted = known?.rowCount === 0
  const { rows } = await db.query<Offering>(
    `select ${OFFERING_COLUMNS} from offerings where environment = $1 and variant_of is null
     and ($3::text is null or (created_at, id) > (select created_at, id from offerings where environment = $1 and id = $3))
     order by created_at, id limit $2`,
    [environment, limit + 1, restarted ? null : (after ?? null)],
  )
  return { rows, restarted }
}
