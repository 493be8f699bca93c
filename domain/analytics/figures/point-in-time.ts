import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'

// Everything before the oldest mark counts. Marks have real time, facts that of the environment.
const POINT_IN_TIME = `
select coalesce(s.generation, 1) as generation, coalesce(s.seq, 0)::float8 as seq, coalesce(s.pruned_seq, 0)::float8 as pruned,
  coalesce(s.fold_version, 0) as "foldVersion",
  floor(extract(epoch from least(c.now, c.now - (clock_timestamp() - m.since))))::float8 as "asOf"
from (select environment_now($1) as now) c
left join (select generation, seq, pruned_seq, fold_version from fact_state where environment = $1) s on true
left join (select since from stale_users where environment = $1 order by since limit 1) m on true`

/**
 * The state of the facts. `generation`: the one that readers see. `seq`: rises with each transaction that writes facts; tombstones up to `pruned`
 * are gone. `foldVersion`: of the rules of the generation. `asOf`: everything recorded before counts (Unix seconds of the environment's clock).
 */
export type PointInTime = { generation: number; seq: number; pruned: number; foldVersion: number; asOf: number }

export async function pointInTimeOf(db: Db, environment: Environment): Promise<PointInTime> {
  const { rows } = await db.query<PointInTime>({ name: 'moment-of-facts', text: POINT_IN_TIME, values: [environment] })
  return rows[0]!
}
