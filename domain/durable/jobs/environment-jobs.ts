import type { Tx } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import { GROUPS_OF_ENVIRONMENT, OF_GROUP } from './groups.ts'

/** Ends at most `limit` jobs of an environment, whatever they are, except for those of the kinds `kept`. Returns how many. */
export async function deleteJobsOf(tx: Tx, environment: Environment, kept: readonly string[], limit: number): Promise<number> {
  const { rowCount } = await tx.query(
    `with recursive ${GROUPS_OF_ENVIRONMENT}, ended as materialized (
       select d.kind, d.id from groups g cross join lateral (
         select kind, id from due where ${OF_GROUP} order by due_at, id limit $3) d
       where g.kind <> all ($2::text[]) limit $3
     )
     delete from due d using ended e where d.kind = e.kind and d.id = e.id`,
    [environment, kept, limit],
  )
  return rowCount ?? 0
}
