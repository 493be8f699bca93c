import type { Tx } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import { getSegment } from '../segments/segment.ts'

/** Writes down who is in the segment now, by one statement: whoever joins or leaves later changes nothing in the export. */
export async function keepMembers(tx: Tx, environment: Environment, exportId: string, segment: string): Promise<void> {
  const { conditions } = await getSegment(tx, environment, segment)
  const { memberIdsSql } = await import('../segments/sql.ts')
  const { sql, parameters } = memberIdsSql(environment, conditions, new Map(), { first: 3 })
  await tx.query(`insert into export_members (environment, export_id, user_id) select $1, $2, m.id from (${sql}) m`, [
    environment,
    exportId,
    ...parameters,
  ])
}

/** The export has ended: nobody asks for its members any more. */
export const forgetMembers = (tx: Tx, environment: Environment, exportId: string) =>
  tx.query('delete from export_members where environment = $1 and export_id = $2', [environment, exportId])
