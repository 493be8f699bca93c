import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'

const A_MINUTE = 10

/** Counts a test; the seconds to wait, and nothing counted, when there were ten within the last minute of real time. */
export async function countTest(db: Db, environment: Environment, id: string): Promise<number | null> {
  const { rowCount } = await db.query(
    `update integrations set tested_at = (tested_at || clock_timestamp())[greatest(1, cardinality(tested_at) - ${A_MINUTE - 2}):]
     where environment = $1 and id = $2 and deleted_at is null
       and (cardinality(tested_at) < ${A_MINUTE} or tested_at[1] < clock_timestamp() - interval '1 minute')`,
    [environment, id],
  )
  if (rowCount === 1) return null
  const { rows } = await db.query<{ wait: number }>(
    `select greatest(1, ceil(extract(epoch from tested_at[1] + interval '1 minute' - clock_timestamp())))::int as wait
     from integrations where environment = $1 and id = $2`,
    [environment, id],
  )
  return rows[0]?.wait ?? 1
}
